import { MAX_FIELDS } from '../../payload/parse.ts'
import { concat, fromBinary, utf8 } from '../../shared/bytes.ts'
import type { Variant } from '../types.ts'
import { type Fields, writeForms } from './form-encoders.ts'
import { decodeForm, decodePercent, fieldLists, orders } from './form-fields.ts'
import { COMPACT, PYTHON_JSON, write } from './json-notations.ts'
import { parseTree } from './json-tree.ts'
import { partsOf } from './multipart.ts'
import type { Source } from './source.ts'

const PAYLOAD = 'payload='

/**
 * Yields a form with this body as its `payload` field. If the body itself is a form, also yields the value of its
 * `payload` field.
 */
export function* formFieldVariants({ bytes, binary }: Source): Generator<Variant> {
  yield [concat([utf8(PAYLOAD), bytes]), 'a form whose payload field is this body']
  yield* partOfForm(binary)
  const equals = binary.indexOf('=')
  if (equals < 0) return
  const rest = binary.slice(equals + 1)
  for (const end of new Set([rest.length, rest.lastIndexOf('&'), rest.indexOf('&')])) {
    if (end < 0) continue
    const field = rest.slice(0, end)
    yield [fromBinary(field), 'the payload field alone, as received']
    if (/[%+]/.test(field)) yield [decodeForm(field), 'the payload field alone, decoded']
  }
}

/** Yields the payload field with its name, and without the fields before or after it. */
function* partOfForm(form: string): Generator<Variant> {
  const start = form.startsWith(PAYLOAD) ? 0 : form.indexOf(`&${PAYLOAD}`) + 1
  if (start === 0 && !form.startsWith(PAYLOAD)) return
  const fields = form.slice(start)
  if (start > 0) {
    yield [fromBinary(fields), 'the form from its payload field on']
    const value = fields.slice(PAYLOAD.length)
    for (const end of new Set([value.length, value.indexOf('&')])) {
      if (end < 0) continue
      yield [fromBinary(value.slice(0, end)), 'the payload field alone, as received']
      yield [decodeForm(value.slice(0, end)), 'the payload field alone, decoded']
    }
  }
  for (const end of new Set([form.indexOf('&', start), form.lastIndexOf('&')])) {
    if (end <= start) continue
    yield [fromBinary(form.slice(0, end)), 'the form without the fields after the payload field']
    yield [fromBinary(form.slice(start, end)), 'the payload field with its name, without other fields']
  }
}

/** Yields the content of each part of a multipart body. */
export function* multipartVariants({ binary }: Source): Generator<Variant> {
  for (const { content } of partsOf(binary)) {
    yield [fromBinary(content), 'one field of the multipart form']
    if (content.includes('\r\n'))
      yield [
        fromBinary(content.replaceAll('\r\n', '\n')),
        'one field of the multipart form, with LF as line endings',
      ]
  }
}

/** Yields the body as it may have been before or after a form parser processed it. */
export function* formVariants(source: Source): Generator<Variant> {
  const { text, binary, tree } = source
  if (text === undefined) return
  if (tree ? binary.includes('%') : /[%+]/.test(binary)) {
    yield [decodeForm(binary), 'the decoded form']
    yield [decodePercent(binary), 'the percent-decoded form']
    yield [text.replaceAll('+', '%20'), 'the form with %20 for spaces']
    yield [text.replaceAll('%20', '+'), 'the form with + for spaces']
    yield [text.replace(/%../g, (code) => code.toLowerCase()), 'the form with lower-case hex digits']
    yield [text.replace(/%../g, (code) => code.toUpperCase()), 'the form with upper-case hex digits']
  }
  if (!tree) for (const ordered of orders(text)) yield [ordered, 'the same form fields in another order']
  // JSON that a form parser took for the name of a field without a value.
  if (text.endsWith('=') && !text.includes('&')) {
    yield [text.slice(0, -1), 'the name of the only form field']
    yield [decodeForm(binary.slice(0, -1)), 'the name of the only form field, decoded']
  }
  yield* formsAsJson(text)
  for (const fields of fieldLists({ ...source, text })) {
    if (fields.length === 0 || fields.length > MAX_FIELDS) continue
    for (const form of writeForms(fields, source.isSmall)) yield [form, 'this body as a percent-encoded form']
  }
}

/** Yields the fields of a form as JSON. The receiver then verifies a form that a proxy wrote for the JSON it got. */
function* formsAsJson(text: string): Generator<Variant> {
  if (!/^[\w.%[\]-]{1,100}=/.test(text)) return
  const fields: Fields = [...new URLSearchParams(text)]
  if (fields.length > MAX_FIELDS) return
  const json = JSON.stringify(Object.fromEntries(fields))
  const tree = parseTree(json)
  if (!tree) return
  yield [json, 'the form fields as JSON']
  yield [write(tree, PYTHON_JSON), 'the form fields as JSON, written by Python']
  const payload = fields.find(([name]) => name === 'payload')?.[1]
  const inner = payload === undefined ? undefined : parseTree(payload)
  if (inner) yield [`{"payload":${write(inner, COMPACT)}}`, 'the payload field as a member of JSON']
}

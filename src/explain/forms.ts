import { MAX_FIELDS } from '../payload/parse.ts'
import { concat, fromBinary, utf8 } from '../shared/bytes.ts'
import { compactJson, type Json, parseJson, parseStructure, pythonJson } from './json.ts'
import {
  decodeForm,
  decodePercent,
  encodeMarks,
  encodePercent,
  type Source,
  type Variant,
} from './transforms.ts'

type Fields = readonly (readonly [name: string, value: string])[]

const PAYLOAD = 'payload='

/** Yields a form with this body as its `payload` field and, if the body itself is a form, parts of it. */
export function* formFieldVariants({ bytes, binary }: Source): Generator<Variant> {
  yield [concat([utf8(PAYLOAD), bytes]), 'a form whose payload field is this body']
  const from = Math.max(0, binary.startsWith(PAYLOAD) ? 0 : binary.indexOf(`&${PAYLOAD}`) + 1)
  const form = binary.slice(from)
  const value = form.indexOf('=') + 1
  if (value === 0) return
  // The payload field ends at the next or the last ampersand, because the JSON in it may contain some.
  for (const end of new Set([form.length, form.lastIndexOf('&'), form.indexOf('&')])) {
    if (end < value) continue
    const field = form.slice(value, end)
    yield [fromBinary(field), 'the payload field alone, as received']
    if (/[%+]/.test(field)) yield [decodeForm(field), 'the payload field alone, decoded']
    if (!form.startsWith(PAYLOAD)) continue
    yield [fromBinary(form.slice(0, end)), 'the payload field with its name, without other fields']
    yield [fromBinary(binary.slice(0, from + end)), 'the form without the fields after the payload field']
  }
}

export function* formVariants(source: Source): Generator<Variant> {
  const { text, binary, isSmall } = source
  if (text === undefined) return
  const tree = parseStructure(text)
  if (tree ? binary.includes('%') : /[%+]/.test(binary)) {
    yield [decodeForm(binary), 'the decoded form']
    yield [decodePercent(binary), 'the percent-decoded form']
    yield [text.replaceAll('+', '%20'), 'the form with %20 for spaces']
    yield [text.replaceAll('%20', '+'), 'the form with + for spaces']
  }
  const pairs = tree ? [] : text.split('&', MAX_FIELDS + 1)
  for (const ordered of [[...pairs].sort(), [...pairs].reverse()])
    if (pairs.length > 1) yield [ordered.join('&'), 'the same form fields in another order']
  // JSON that a form parser took for the name of a field without a value.
  if (text.endsWith('=') && !text.includes('&')) {
    yield [text.slice(0, -1), 'the name of the only form field']
    yield [decodeForm(binary.slice(0, -1)), 'the name of the only form field, decoded']
  }
  yield* formsAsJson(text)
  for (const fields of fieldLists(text, tree, pairs)) {
    if (fields.length === 0 || fields.length > MAX_FIELDS) continue
    for (const form of writeForms(fields, isSmall)) yield [form, 'this body as a percent-encoded form']
  }
}

/** Yields the fields of a form as JSON. The receiver then verifies a form that a proxy wrote for the JSON it got. */
function* formsAsJson(text: string): Generator<Variant> {
  const fields: Fields = /^[\w.%[\]-]{1,100}=/.test(text) ? [...new URLSearchParams(text)] : []
  const tree = fields.length > MAX_FIELDS ? undefined : parseJson(JSON.stringify(Object.fromEntries(fields)))
  if (!tree || fields.length === 0) return
  yield [compactJson(tree), 'the form fields as JSON']
  yield [pythonJson(tree), 'the form fields as JSON, written by Python']
  const payload = payloadOf(fields)
  if (payload) yield [`{"payload":${compactJson(payload)}}`, 'the payload field as a member of JSON']
}

const payloadOf = (fields: Fields): Json | undefined =>
  parseJson(fields.find(([name]) => name === 'payload')?.[1] ?? '')

/** Yields the fields of the form that the sender may have written before it was parsed, rewritten or reordered. */
function* fieldLists(text: string, tree: Json | undefined, pairs: readonly string[]): Generator<Fields> {
  // The body is the output of a form parser: the payload, or all fields as JSON.
  yield [['payload', text]]
  if (tree?.kind === 'object' && tree.members.every(({ value }) => value.kind === 'string'))
    yield tree.members.map(({ name, value }) => [name, value.text])
  if (tree) return
  // The body is a form that was percent-decoded as a whole. If it had only one field, `&` may be part of its value.
  if (pairs.length <= MAX_FIELDS) yield pairs.map(splitPair)
  if (pairs.length > 1) yield [splitPair(text)]
  if (pairs.length > MAX_FIELDS || !text.includes('=')) return
  // The body is a form that was parsed and encoded again, perhaps in another order, or with other JSON.
  const fields: Fields = [...new URLSearchParams(text)]
  if (/[%+]/.test(text)) yield* [fields, [...fields].sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))]
  const payload = payloadOf(fields)
  for (const json of payload ? [compactJson(payload), pythonJson(payload)] : [])
    yield fields.map(([name, value]) => [name, name === 'payload' ? (json ?? value) : value])
}

function splitPair(pair: string): readonly [string, string] {
  const equals = pair.indexOf('=')
  return equals < 0 ? [pair, ''] : [pair.slice(0, equals), pair.slice(equals + 1)]
}

/** Characters that form encoders write percent-encoded, although `encodeURIComponent` keeps them. */
const MARKS: readonly RegExp[] = [
  /(?!)/g, // encodeURIComponent in JavaScript, jQuery
  /[!'()*]/g, // RFC 3986: `quote` and `urlencode` in Python, curl, qs, Go, Ruby, FormUrlEncodedContent
  /[!'()~]/g, // WHATWG URL: URLSearchParams, URLEncoder in Java
  /[!'()*~]/g, // `http_build_query` in PHP
  /['~]/g, // .NET
  /[!'*]/g, // qs with RFC1738
]

/** Writes fields as all encoders do, which also differ in spaces, slashes and the case of hex digits. */
function* writeForms(fields: Fields, isSmall: boolean): Generator<string> {
  const form = fields.map(([name, value]) => `${encodePercent(name)}=${encodePercent(value)}`).join('&')
  const written = new Set<string>()
  for (const marks of isSmall ? MARKS : MARKS.slice(0, 4)) {
    const spaced = encodeMarks(form, marks)
    for (const upper of [spaced, spaced.replaceAll('%20', '+')]) {
      written.add(upper)
      if (isSmall) written.add(upper.replace(/%../g, (code) => code.toLowerCase()))
      if (isSmall) written.add(upper.replaceAll('%2F', '/'))
    }
  }
  yield* written
}

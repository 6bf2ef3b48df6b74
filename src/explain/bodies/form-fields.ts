import { MAX_FIELDS } from '../../payload/parse.ts'
import { fromBinary } from '../../shared/bytes.ts'
import { percentDecode } from '../../signature/signature.ts'
import { decodeAs } from '../text.ts'
import type { BytesOrText } from '../types.ts'
import type { Fields } from './form-encoders.ts'
import { COMPACT, PYTHON_JSON, write } from './json-notations.ts'
import { parseTree } from './json-tree.ts'
import { partsOf } from './multipart.ts'
import type { Source } from './source.ts'

/** Maximum number of fields that are put into other orders. */
const MAX_ORDERED = 50

/** Maximum number of fields and of characters for which all orders are tested. */
const MAX_PERMUTED = 4
const MAX_PERMUTED_SIZE = 8 * 1024

/** Reads a form as the sender may have written it before it was parsed, rewritten or put into another order. */
export function* fieldLists({ text, tree, binary, isSmall }: Source & { text: string }): Generator<Fields> {
  // The body is the output of a form parser: the payload, or all fields as JSON.
  yield [['payload', text]]
  if (tree?.kind === 'object') {
    const fields = tree.members.map(([name, value]) => [
      name,
      value.kind === 'string' ? value.text : undefined,
    ])
    if (fields.length <= MAX_FIELDS && fields.every(([, value]) => value !== undefined))
      yield fields as [string, string][]
  }
  if (tree) return
  const parts = partsOf(binary)
  if (parts.length > 0)
    yield parts.map(({ name, content }) => [name, decodeAs(fromBinary(content), 'utf-8') ?? content])
  const pairs = text.split('&', MAX_FIELDS + 1)
  if (pairs.length > MAX_FIELDS) {
    yield [splitPair(text)]
    return
  }
  // The body is a form that was percent-decoded as a whole. If it had only one field, `&` may be part of its value.
  const isEncoded = /%[0-9a-f]{2}/i.test(text)
  if (isSmall || !isEncoded) yield pairs.map(splitPair)
  if (pairs.length > 1 && (isSmall || !isEncoded)) yield [splitPair(text)]
  if (!text.includes('=')) return
  // The body is a form that was parsed and encoded again, perhaps in another order.
  const fields = [...new URLSearchParams(text)]
  if (/[%+]/.test(text)) yield fields
  const sorted = sortFields(fields)
  if (/[%+]/.test(text) && sorted.some((field, index) => field !== fields[index])) yield sorted
  yield* withOtherJson(fields)
}

/** Yields the form with the JSON of its payload field written in another notation. */
function* withOtherJson(fields: Fields): Generator<Fields> {
  const index = fields.findIndex(([name]) => name === 'payload')
  const payload = parseTree(fields[index]?.[1] ?? '')
  if (!payload) return
  for (const notation of [COMPACT, PYTHON_JSON]) {
    const json = write(payload, notation)
    if (json !== fields[index]?.[1])
      yield fields.map((field, other) => (other === index ? ['payload', json] : field))
  }
}

const sortFields = (fields: Fields): Fields => [...fields].sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))

/** Yields the fields, as received, in other orders. */
export function* orders(form: string): Generator<string> {
  const pairs = form.split('&', MAX_ORDERED + 1)
  if (pairs.length < 2 || pairs.length > MAX_ORDERED || !form.includes('=')) return
  if (pairs.length <= MAX_PERMUTED && form.length <= MAX_PERMUTED_SIZE) {
    for (const permuted of permutations(pairs)) yield permuted.join('&')
    return
  }
  const byName = [...pairs].sort((a, b) => (splitPair(a)[0] < splitPair(b)[0] ? -1 : 1))
  const isPayload = (pair: string): boolean => pair.startsWith('payload=')
  const others = pairs.filter((pair) => !isPayload(pair))
  const payload = pairs.filter(isPayload)
  for (const order of [
    byName,
    [...byName].reverse(),
    [...pairs].reverse(),
    [...payload, ...others],
    [...others, ...payload],
  ])
    yield order.join('&')
}

function* permutations<T>(items: readonly T[]): Generator<T[]> {
  if (items.length < 2) yield [...items]
  for (const [index, item] of items.length < 2 ? [] : items.entries()) {
    for (const rest of permutations(items.filter((_, other) => other !== index))) yield [item, ...rest]
  }
}

function splitPair(pair: string): readonly [string, string] {
  const equals = pair.indexOf('=')
  return equals < 0 ? [pair, ''] : [pair.slice(0, equals), pair.slice(equals + 1)]
}

/** Decodes a form field or a whole form, given as a binary string. The result may be bytes that are not UTF-8. */
export function decodeForm(binary: string): BytesOrText {
  return decodePercent(binary.replaceAll('+', ' '))
}

export function decodePercent(binary: string): BytesOrText {
  if (/^[\0-\x7f]*$/.test(binary)) {
    try {
      return decodeURIComponent(binary) // several times as fast
    } catch {
      // contains an incomplete escape, or bytes that are not UTF-8
    }
  }
  return fromBinary(percentDecode(binary))
}

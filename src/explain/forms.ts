import { MAX_FIELDS } from '../payload/parse.ts'
import { concat, fromBinary, utf8 } from '../shared/bytes.ts'
import { decodeAs } from './bytes.ts'
import { COMPACT, type Json, PLAIN, PYTHON, parseJson, SPACED, writeJson } from './json.ts'
import { decodePercent, type Source, type Variant } from './transforms.ts'
import type { BytesOrText } from './types.ts'

/** Fields of a form, decoded. */
type Fields = readonly (readonly [name: string, value: string])[]

/** Maximum number of fields that are put into other orders; and of fields and characters, into all orders. */
const MAX_ORDERED = 50
const MAX_PERMUTED = 4
const MAX_PERMUTED_SIZE = 8 * 1024

/** Maximum number of parts of a multipart form that are read. */
const MAX_PARTS = 20

const PAYLOAD = 'payload='

const decodeForm = (binary: string): BytesOrText => decodePercent(binary.replaceAll('+', ' '))

/** Yields a form with this body as its `payload` field and, if the body itself is a form, parts of it. */
export function* formFieldVariants({ bytes, binary }: Source): Generator<Variant> {
  yield [concat([utf8(PAYLOAD), bytes]), 'a form whose payload field is this body']
  const pairs = binary.split('&', MAX_FIELDS)
  const start = binary.startsWith(PAYLOAD) ? 0 : binary.indexOf(`&${PAYLOAD}`) + 1
  const from = start > 0 || binary.startsWith(PAYLOAD) ? start : binary.indexOf('=') < 0 ? -1 : 0
  if (from < 0) return
  const form = binary.slice(from)
  const value = form.indexOf('=') + 1
  // The payload field ends at the next or the last ampersand, because the JSON in it may contain some.
  for (const end of new Set([form.length, form.lastIndexOf('&'), form.indexOf('&')])) {
    if (end < value) continue
    const field = form.slice(value, end)
    yield [fromBinary(field), 'the payload field alone, as received']
    if (/[%+]/.test(field)) yield [decodeForm(field), 'the payload field alone, decoded']
    if (pairs.length < 2 || !form.startsWith(PAYLOAD)) continue
    if (end < form.length || from > 0)
      yield [fromBinary(form.slice(0, end)), 'the payload field with its name, without other fields']
    if (from > 0 && end < form.length)
      yield [fromBinary(binary.slice(0, from + end)), 'the form without the fields after the payload field']
  }
}

/** Reads the fields of a body of the type multipart/form-data (RFC 7578), as binary strings. */
function partsOf(binary: string): { name: string; content: string }[] {
  const boundary = /^(?:\r?\n)?(--[^\r\n]{1,100})\r?\n/.exec(binary)?.[1]
  if (!boundary) return []
  const parts = binary.split(boundary, MAX_PARTS + 1).slice(1)
  return parts.flatMap((part) => {
    const [headers = '', blank = ''] = /^\r?\n.{0,2000}?(\r?\n\r?\n)/s.exec(part) ?? []
    if (!blank) return []
    const name = /\bname="?([^";\r\n]{0,100})/.exec(headers)?.[1] ?? ''
    return [{ name, content: part.slice(headers.length).replace(/\r?\n$/, '') }]
  })
}

/** Yields the content of each part of a multipart body. */
export function* multipartVariants({ binary }: Source): Generator<Variant> {
  for (const { content } of partsOf(binary)) {
    yield [fromBinary(content), 'one field of the multipart form']
    if (!content.includes('\r\n')) continue
    const description = 'one field of the multipart form, with LF as line endings'
    yield [fromBinary(content.replaceAll('\r\n', '\n')), description]
  }
}

/** Yields the body as it may have been before or after a form parser processed it. */
export function* formVariants(source: Source): Generator<Variant> {
  const { text, binary, isSmall } = source
  if (text === undefined) return
  const tree = /^\s*["[{]/.test(text) ? parseJson(text) : undefined
  const isJson = tree !== undefined
  if (isJson ? binary.includes('%') : /[%+]/.test(binary)) {
    yield [decodeForm(binary), 'the decoded form']
    yield [decodePercent(binary), 'the percent-decoded form']
    yield [text.replaceAll('+', '%20'), 'the form with %20 for spaces']
    yield [text.replaceAll('%20', '+'), 'the form with + for spaces']
    yield [text.replace(/%../g, (code) => code.toLowerCase()), 'the form with lower-case hex digits']
    yield [text.replace(/%../g, (code) => code.toUpperCase()), 'the form with upper-case hex digits']
  }
  if (!isJson) for (const ordered of orders(text)) yield [ordered, 'the same form fields in another order']
  // JSON that a form parser took for the name of a field without a value.
  if (text.endsWith('=') && !text.includes('&')) {
    yield [text.slice(0, -1), 'the name of the only form field']
    yield [decodeForm(binary.slice(0, -1)), 'the name of the only form field, decoded']
  }
  yield* formsAsJson(text)
  for (const fields of fieldLists(source, text, tree)) {
    if (fields.length === 0 || fields.length > MAX_FIELDS) continue
    for (const form of writeForms(fields, isSmall)) yield [form, 'this body as a percent-encoded form']
  }
}

/** Yields the fields of a form as JSON. The receiver then verifies a form that a proxy wrote for the JSON it got. */
function* formsAsJson(text: string): Generator<Variant> {
  if (!/^[\w.%[\]-]{1,100}=/.test(text)) return
  const fields: Fields = [...new URLSearchParams(text)]
  if (fields.length > MAX_FIELDS) return
  const tree = parseJson(JSON.stringify(Object.fromEntries(fields)))
  if (!tree) return
  yield [writeJson(tree, COMPACT, PLAIN) ?? '', 'the form fields as JSON']
  yield [writeJson(tree, SPACED, PYTHON) ?? '', 'the form fields as JSON, written by Python']
  const payload = parseJson(fields.find(([name]) => name === 'payload')?.[1] ?? '')
  if (payload)
    yield [`{"payload":${writeJson(payload, COMPACT, PLAIN)}}`, 'the payload field as a member of JSON']
}

/** Yields the fields of the form that the sender may have written before it was parsed, rewritten or reordered. */
function* fieldLists({ binary, isSmall }: Source, text: string, tree: Json | undefined): Generator<Fields> {
  // The body is the output of a form parser: the payload, or all fields as JSON.
  yield [['payload', text]]
  if (tree?.kind === 'object' && tree.members.every(({ value }) => value.kind === 'string'))
    yield tree.members.map(({ name, value }) => [name, value.text])
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
  // The body is a form that was parsed and encoded again, perhaps in another order, or with other JSON.
  const fields: Fields = [...new URLSearchParams(text)]
  const sorted = [...fields].sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
  if (/[%+]/.test(text)) yield* [fields, sorted]
  const payload = parseJson(fields.find(([name]) => name === 'payload')?.[1] ?? '')
  if (!payload) return
  for (const json of [writeJson(payload, COMPACT, PLAIN), writeJson(payload, SPACED, PYTHON)])
    yield fields.map(([name, value]) => [name, name === 'payload' ? (json ?? value) : value])
}

/** Yields the fields, as received, in other orders. */
function* orders(form: string): Generator<string> {
  const pairs = form.split('&', MAX_ORDERED + 1)
  if (pairs.length < 2 || pairs.length > MAX_ORDERED || !form.includes('=')) return
  if (pairs.length <= MAX_PERMUTED && form.length <= MAX_PERMUTED_SIZE) {
    for (const permuted of permutations(pairs)) yield permuted.join('&')
    return
  }
  const byName = [...pairs].sort((a, b) => (splitPair(a)[0] < splitPair(b)[0] ? -1 : 1))
  const others = pairs.filter((pair) => !pair.startsWith(PAYLOAD))
  const payload = pairs.filter((pair) => pair.startsWith(PAYLOAD))
  for (const list of [byName, [...byName].reverse(), [...pairs].reverse()]) yield list.join('&')
  yield [...payload, ...others].join('&')
  yield [...others, ...payload].join('&')
}

function* permutations<T>(items: readonly T[]): Generator<T[]> {
  if (items.length < 2) yield [...items]
  else
    for (const [index, item] of items.entries())
      for (const rest of permutations(items.filter((_, other) => other !== index))) yield [item, ...rest]
}

function splitPair(pair: string): readonly [string, string] {
  const equals = pair.indexOf('=')
  return equals < 0 ? [pair, ''] : [pair.slice(0, equals), pair.slice(equals + 1)]
}

/**
 * How form encoders write the characters that `encodeURIComponent` keeps, and spaces: which are percent-encoded too,
 * whether a space is `+`, and whether hex digits are in lower case.
 */
const ENCODERS: readonly (readonly [also: RegExp, isPlus: boolean, isLower?: boolean])[] = [
  [/(?!)/g, false], // encodeURIComponent in JavaScript
  [/(?!)/g, true], // jQuery
  [/[!'()*]/g, false], // RFC 3986: `quote` in Python, PHP_QUERY_RFC3986, curl, qs
  [/[!'()*]/g, true], // `urlencode` in Python, `url.Values` in Go, `CGI.escape` in Ruby, FormUrlEncodedContent
  [/[!'()~]/g, true], // WHATWG URL: URLSearchParams, URLEncoder in Java
  [/[!'()*~]/g, true], // `http_build_query` in PHP
  [/['~]/g, true], // WebUtility.UrlEncode in .NET
  [/[!'*]/g, true], // qs with RFC1738
  [/['~]/g, true, true], // HttpUtility.UrlEncode in .NET
  [/(?!)/g, false, true],
  [/[!'()*]/g, false, true],
  [/[!'()*]/g, true, true],
  [/[!'()*~]/g, true, true],
]

/** Number of encoders that are tested for large forms too. */
const COMMON = 6

/** Writes fields in the notations of all encoders. */
function* writeForms(fields: Fields, isSmall: boolean): Generator<string> {
  // Lone surrogates are replaced first, because encodeURIComponent throws for them.
  const encode = (text: string): string => encodeURIComponent(text.replace(/\p{Surrogate}/gu, '\ufffd'))
  const form = fields.map(([name, value]) => `${encode(name)}=${encode(value)}`).join('&')
  const written = new Set<string>()
  for (const [also, isPlus, isLower] of isSmall ? ENCODERS : ENCODERS.slice(0, COMMON)) {
    let text = form.replace(also, (mark) => `%${mark.charCodeAt(0).toString(16).toUpperCase()}`)
    if (isPlus) text = text.replaceAll('%20', '+')
    if (isLower) text = text.replace(/%(?:.[A-F]|[A-F].)/g, (code) => code.toLowerCase())
    written.add(text)
    written.add(text.replaceAll('%2F', '/')) // `quote` in Python keeps slashes
  }
  yield* written
}

import { MAX_FIELDS } from '../payload/parse.ts'
import { concat, fromBinary, utf8 } from '../shared/bytes.ts'
import { builtin, decodeAs } from './bytes.ts'
import type { Cause } from './causes.ts'
import { compactJson, type Json, parseJson, parseStructure, pythonJson, SPACED, writeJson } from './json.ts'
import { MAX_TEXTS, rewriteJson } from './rewrite.ts'
import * as transforms from './transforms.ts'
import {
  changesOf,
  createSource,
  decodeBase64,
  decodeForm,
  decodePercent,
  encodeMarks,
  encodePercent,
  type Families,
  type Family,
  pythonRepr,
  type Source,
  type Variant,
} from './transforms.ts'
import type { Hypothesis } from './types.ts'

/** Yields the JSON of this body in other notations, likely ones first, at most the given number of them. */
export function* writtenBodies(body: Uint8Array, maxTexts: number = MAX_TEXTS): Generator<Hypothesis> {
  const text = decodeAs(body)
  if (text === undefined) return
  // Indentation without line ends: `curl -d @file` removes them.
  const isJoined = /^[[{](?: {2}|\t)/.test(text)
  for (const [written, description] of rewriteJson(text, maxTexts)) {
    if (isJoined && written.replace(/[\r\n]/g, '') === text)
      yield ['body_line_endings', written, 'the body with line endings, which were removed']
    else yield ['body_reserialized', written, description]
  }
}

const LOST_TEXTS = [
  ...['Object', 'Promise', 'Uint8Array', 'ArrayBuffer', 'Blob', 'ReadableStream', 'FormData'].map(
    (name) => `[object ${name}]`,
  ),
  ...['{}', '[]', 'undefined', 'null', 'nil', 'None', 'Array', 'NaN', 'true'],
]

/** Maximum number of members of the received JSON that are tested, at any depth and with any name. */
const MAX_MEMBERS = 40

/** Yields a member of the received JSON: its text, its decoded text, or its JSON. Hosts and queues wrap bodies. */
function* events({ text, isSmall }: Source): Generator<Variant> {
  const tree = parseStructure(text)
  const members = (tree?.members ?? []).slice(0, MAX_MEMBERS)
  const description = `one ${tree?.kind === 'array' ? 'element of the received JSON array' : 'member of the received JSON'}`
  for (const { value } of members) {
    members.push(...value.members.slice(0, MAX_MEMBERS - members.length)) // breadth first
    if (value.kind === 'string') {
      yield [value.text, description]
      yield [decodeBase64(value.text), `${description}, decoded from base64`]
    } else if (/^[[{]/.test(value.raw)) {
      yield [value.raw, description]
      if (/[\s\\]/.test(value.raw)) yield [compactJson(value), `${description}, in compact JSON`]
      if (isSmall) yield [pythonJson(value), `${description}, written by Python`]
    }
  }
}

const WRAPPERS = ['payload', 'data', 'event', 'body', 'events', 'message']

function* wrappers({ text }: Source): Generator<Variant> {
  if (text === undefined) return
  const isJson = parseStructure(text) !== undefined
  for (const name of WRAPPERS) {
    const description = `JSON that contains this body as its member ${name}`
    yield [`{"${name}":${JSON.stringify(text)}}`, description]
    for (const colon of isJson ? [':', ': '] : []) yield [`{"${name}"${colon}${text}}`, description]
  }
  if (isJson) yield [`[${text}]`, 'a JSON array that contains this body as its only element']
}

const MAX_NESTED = 3

function* jsonStrings(source: Source): Generator<Variant> {
  let inner = parseStructure(source.text)?.text
  for (let nested = 0; inner && nested < MAX_NESTED; nested++) {
    yield [inner, 'the text inside the JSON string that was received']
    inner = parseStructure(inner)?.text
  }
  yield* ofBody(transforms.jsonStrings)(source)
}

function pythonStr(tree: Json): string | undefined {
  const words: Readonly<Record<string, string>> = { true: 'True', false: 'False', null: 'None' }
  return writeJson(tree, SPACED, { string: (text) => pythonRepr(text), word: (raw) => words[raw] ?? raw })
}

/** Yields the payload as languages write it if it is converted to text without a JSON serializer. */
function* stringified({ text, isSmall }: Source): Generator<Variant> {
  const tree = parseStructure(text)
  if (tree?.kind === 'array') {
    const texts = tree.members.map(() => '[object Object]').join()
    yield [texts, 'the text [object Object] in place of each element']
  }
  // A receiver that wrote its Buffer as JSON before it verified it: `{"type":"Buffer","data":[…]}`, `[…]` or `{"0":…}`.
  const members = (tree?.members.find(({ name }) => name === 'data')?.value ?? tree)?.members ?? []
  const numbers = members.map(({ value }) => (value.kind === 'number' ? Number(value.raw) : -1))
  if (numbers.length > 0 && numbers.every((number) => number >= 0 && number < 256))
    yield [Uint8Array.from(numbers), 'the bytes whose numbers are in the received JSON']
  if (!isSmall || text === undefined) return
  if (tree) yield [pythonStr(tree), 'the payload as str of Python writes it']
  yield [pythonRepr(text), 'the body as repr of Python writes it']
}

const ofBody = (...families: Family[]): Family =>
  function* (source) {
    for (const family of families)
      for (const [value, description] of family(source)) yield [value, `the body ${description}`]
  }

function* withoutDoubleQuotes({ characters, isSmall }: Source): Generator<Variant> {
  if (isSmall) yield [characters.replaceAll('"', ''), 'without its double quotes, which a shell has removed']
}

/** Families with few hypotheses, which take about as long as reading the body a few times. */
const CHEAP: Families = [
  ['body_empty', () => [['', 'an empty body']]],
  ['body_line_endings', ofBody(transforms.lineEndings)],
  ['body_trailing_newline', ofBody(transforms.atEnd)],
  ['body_bom', ofBody(transforms.byteOrderMarks)],
  ['body_form_field', formFieldVariants],
  ['body_leading_space', ofBody(transforms.atStart)],
  ['body_nul', ofBody(transforms.nulBytes)],
  ['body_stringified', () => LOST_TEXTS.map((text) => [text, `the text ${text} in place of the payload`])],
]

/** Families with many hypotheses, likely ones first. */
const EXPENSIVE: Families = [
  ['body_charset', ofBody(transforms.charsets)],
  ['body_normalized', ofBody(transforms.normalForms)],
  ['body_event', events],
  ['body_json_string', jsonStrings],
  ['body_form_decoded', formVariants],
  ['body_base64', ofBody(transforms.encodings)],
  [
    'body_escaped',
    ofBody(transforms.html, transforms.percentEncodings, transforms.backslashes, withoutDoubleQuotes),
  ],
  ['body_event', wrappers],
  ['body_stringified', stringified],
  ['body_stringified', ofBody(transforms.byteLists)],
  ['body_escaped', ofBody(transforms.quotes)],
]

export const cheapBodies = (body: Uint8Array): Generator<Hypothesis> => changesOf(createSource(body), CHEAP)

export const expensiveBodies = (body: Uint8Array): Generator<Hypothesis> =>
  changesOf(createSource(body), EXPENSIVE)

export function bodiesWith(body: Uint8Array, ...causes: Cause[]): Generator<Hypothesis> {
  const families = [...CHEAP, ...EXPENSIVE].filter(([cause]) => causes.includes(cause))
  return changesOf(createSource(body), families)
}

type Options = { level?: number; params?: Record<string, number>; maxOutputLength?: number }

/** The part of node:zlib that is used here. */
type Zlib = Record<string, ((data: Uint8Array, options?: Options) => Uint8Array) | undefined>
const zlib = builtin('node:zlib') as Zlib | undefined

const MIB = 1024 * 1024

/** Bodies up to this size are compressed at several levels. Larger ones would take too long. */
const MAX_ALL_LEVELS = 4 * 1024

/** Bytes 8 and 9 of a gzip header: compression level and operating system (RFC 1952 section 2.3). */
const LEVELS = [0, 2, 4]
const SYSTEMS = [0, 3, 10, 19, 255]

const BROTLI_PARAM_QUALITY = 1

/** Yields the decompressed body, and the body compressed the way common tools do it. Yields nothing outside of Node. */
export function* compressedBodies(body: Uint8Array): Generator<Hypothesis> {
  // A small body may decompress to gigabytes.
  const maxOutputLength = Math.min(Math.max(MIB, 16 * body.length), 16 * MIB)
  for (const name of ['gunzipSync', 'inflateSync', 'inflateRawSync', 'brotliDecompressSync'])
    yield* attempt('the decompressed body', name, body, { maxOutputLength })
  const isSmall = body.length <= MAX_ALL_LEVELS
  for (const level of isSmall ? [-1, 9, 1] : [-1]) {
    for (const name of ['deflateSync', 'deflateRawSync'])
      yield* attempt('the compressed body', name, body, { level })
    for (const [cause, gzip, description] of attempt('the compressed body', 'gzipSync', body, { level })) {
      for (const bytes of LEVELS.flatMap((effort) => SYSTEMS.map((system) => [effort, system]))) {
        const copy = (gzip as Uint8Array).slice()
        copy.set(bytes, 8)
        yield [cause, copy, description]
      }
    }
  }
  for (const quality of isSmall ? [4, 6, 11] : [4]) // of middleware for Express, of nginx and of Node
    yield* attempt('the compressed body', 'brotliCompressSync', body, {
      params: { [BROTLI_PARAM_QUALITY]: quality },
    })
}

function attempt(what: string, name: string, body: Uint8Array, options: Options): Hypothesis[] {
  try {
    const bytes = zlib?.[name]?.(body, options)
    return bytes ? [['body_decompressed', bytes, what]] : []
  } catch {
    return [] // invalid in this format, or too large
  }
}

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

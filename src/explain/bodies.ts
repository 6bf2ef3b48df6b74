import { decodeAs } from './bytes.ts'
import type { Cause } from './causes.ts'
import { formFieldVariants, formVariants, multipartVariants } from './forms.ts'
import {
  compactJson,
  type Json,
  type Layout,
  memberAt,
  parseStructure,
  pythonJson,
  SPACED,
  writeJson,
} from './json.ts'
import { MAX_TEXTS, rewriteJson } from './rewrite.ts'
import * as transforms from './transforms.ts'
import {
  createSource,
  decodeBase64,
  encodeLike,
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

const LOST_NAMES = ['Object', 'Promise', 'Uint8Array', 'ArrayBuffer', 'Blob', 'ReadableStream', 'FormData']

/** Texts that languages write in place of an object. */
const LOST_TEXTS = [
  ...LOST_NAMES.map((name) => `[object ${name}]`),
  ...['{}', '[]', 'undefined', 'null', 'nil', 'None', 'Array', 'NaN', 'true'],
]

/** Where function hosts, queues and buses put the body of the request. */
const PATHS = [
  ...['body', 'event.body', 'rawBody', 'req.body', 'req.rawBody', 'Data.req.Body', 'Message'],
  ...['Records.0.body', 'Records.0.Sns.Message', 'Records.0.kinesis.data', 'detail', 'detail.body'],
  ...['message.data', 'data.message.data', 'data', 'data_base64', '0.data', 'request.body', 'payload.body'],
]

/** Members of the received JSON that are tested, whatever their names. */
const MAX_MEMBERS = 30

/** Yields one member of the received JSON: its text, its decoded text, or its JSON. */
function* events({ text, isSmall }: Source): Generator<Variant> {
  const tree = parseStructure(text)
  if (!tree) return
  const members = new Map<Json, string>()
  for (const path of PATHS) {
    const member = memberAt(tree, path)
    if (member) members.set(member, `the member ${path} of the received JSON`)
  }
  const what = tree.kind === 'array' ? 'element of the received JSON array' : 'member of the received JSON'
  for (const { value } of tree.members.slice(0, MAX_MEMBERS))
    if (!members.has(value)) members.set(value, `one ${what}`)
  for (const [member, description] of members) {
    if (member.kind === 'string') {
      yield [member.text, description]
      yield [decodeBase64(member.text), `${description}, decoded from base64`]
    } else if (/^[[{]/.test(member.raw)) {
      yield [member.raw, description]
      if (/[\s\\]/.test(member.raw)) yield [compactJson(member), `${description}, in compact JSON`]
      if (isSmall) yield [pythonJson(member), `${description}, written by Python`]
    }
  }
}

/** Members in which senders wrap the payload. */
const WRAPPERS = ['payload', 'data', 'event', 'body', 'events', 'message']

/** Yields JSON that contains the body as its only member. */
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

/** How often JSON may be inside a JSON string. */
const MAX_NESTED = 3

function* jsonStrings(source: Source): Generator<Variant> {
  let inner = parseStructure(source.text)?.text
  for (let nested = 0; inner && nested < MAX_NESTED; nested++) {
    yield [inner, 'the text inside the JSON string that was received']
    inner = parseStructure(inner)?.text
  }
  yield* ofBody(transforms.jsonStrings)(source)
}

/** `inspect` in Ruby, for texts in UTF-8. */
const rubyInspect = (text: string): string => JSON.stringify(text).replace(/#(?=[{$@])/g, '\\#')

/** Converting a parsed object to text, in Python, Java, and Ruby before and since 3.4. */
const NOTATIONS: readonly (readonly [
  language: string,
  layout: Layout,
  string: (text: string) => string,
  words: Readonly<Record<string, string>>,
])[] = [
  ['str of Python', SPACED, (text) => pythonRepr(text), { true: 'True', false: 'False', null: 'None' }],
  ['toString of a Java map', { comma: ', ', colon: '=' }, String, {}],
  ['to_s of Ruby', { comma: ', ', colon: '=>' }, rubyInspect, { null: 'nil' }],
  ['to_s of Ruby', { comma: ', ', colon: ' => ' }, rubyInspect, { null: 'nil' }],
]

/** Yields the payload as languages write it if it is converted to text without a JSON serializer. */
function* stringified(source: Source): Generator<Variant> {
  const { text, isSmall } = source
  const tree = parseStructure(text)
  if (tree?.kind === 'array') {
    const texts = tree.members.map(() => '[object Object]').join()
    yield [texts, 'the text [object Object] in place of each element']
  }
  // A receiver that wrote its Buffer as JSON before it verified it: `{"type":"Buffer","data":[…]}`, `[…]` or `{"0":…}`.
  const members = ((tree && memberAt(tree, 'data')) ?? tree)?.members ?? []
  const numbers = members.map(({ value }) => (value.kind === 'number' ? Number(value.raw) : -1))
  if (numbers.length > 0 && numbers.every((number) => number >= 0 && number < 256))
    yield [Uint8Array.from(numbers), 'the bytes whose numbers are in the received JSON']
  if (!isSmall || text === undefined) return
  for (const [language, layout, string, words] of tree ? NOTATIONS : []) {
    const values = { string, word: (raw: string) => words[raw] ?? raw }
    yield [tree && writeJson(tree, layout, values), `the payload as ${language} writes it`]
  }
  yield [pythonRepr(text), 'the body as repr of Python writes it']
}

/** Yields the body after several kinds of changes. */
const ofBody = (...families: Family[]): Family =>
  function* (source) {
    for (const family of families)
      for (const [value, description] of family(source)) yield [value, `the body ${description}`]
  }

function* withoutDoubleQuotes({ characters, isSmall }: Source): Generator<Variant> {
  if (isSmall) yield [characters.replaceAll('"', ''), 'without its double quotes, which a shell has removed']
}

type Families = readonly (readonly [cause: Cause, variants: Family])[]

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
  ['body_event', events],
  ['body_json_string', jsonStrings],
  ['body_form_field', multipartVariants],
  ['body_form_decoded', formVariants],
  ['body_charset', ofBody(transforms.charsets)],
  ['body_normalized', ofBody(transforms.normalForms)],
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

/** Yields bytes that the sender may have signed in place of this body, and that are cheap to compute. */
export const cheapBodies = (body: Uint8Array): Generator<Hypothesis> => hypothesesOf(CHEAP, body)

/** Yields further bytes that the sender may have signed. */
export const expensiveBodies = (body: Uint8Array): Generator<Hypothesis> => hypothesesOf(EXPENSIVE, body)

/** Yields the hypotheses about this body that have one of these causes, without computing the others. */
export function* bodiesWith(
  body: Uint8Array,
  causes: readonly Cause[],
  maxTexts: number,
): Generator<Hypothesis> {
  const families = [...CHEAP, ...EXPENSIVE].filter(([cause]) => causes.includes(cause))
  yield* hypothesesOf(families, body)
  if (causes.includes('body_reserialized')) yield* writtenBodies(body, maxTexts)
}

function* hypothesesOf(families: Families, body: Uint8Array): Generator<Hypothesis> {
  const source = createSource(body)
  for (const [cause, variants] of families)
    for (const [value, description] of variants(source))
      if (value !== undefined) yield [cause, encodeLike(source, value), description]
}

type Options = { level?: number; params?: Record<string, number>; maxOutputLength?: number }

/** The part of node:zlib that is used here. It is loaded only where it exists, and so is not imported. */
type Zlib = Record<string, ((data: Uint8Array, options?: Options) => Uint8Array) | undefined> & {
  constants: Readonly<Record<string, number>>
}

type Process = { getBuiltinModule?: (name: 'node:zlib') => unknown }
const zlib = (globalThis as { process?: Process }).process?.getBuiltinModule?.('node:zlib') as
  | Zlib
  | undefined

const DECOMPRESS = [
  'gunzipSync',
  'inflateSync',
  'inflateRawSync',
  'brotliDecompressSync',
  'zstdDecompressSync',
]
const COMPRESS = ['gzipSync', 'deflateSync', 'deflateRawSync']

const MIB = 1024 * 1024

/** Returns the maximum decompressed size. It is limited because a small body may decompress to gigabytes. */
const maxDecompressed = (size: number): number => Math.min(Math.max(MIB, 16 * size), 16 * MIB)

/** Bodies up to this size are compressed at all levels. Larger ones would take too long. */
const MAX_ALL_LEVELS = 4 * 1024

/** Bytes 8 and 9 of a gzip header: compression level and operating system (RFC 1952 section 2.3). */
const LEVEL_AND_SYSTEM = ['0 0', '0 3', '0 10', '0 19', '0 255', '2 3', '2 255', '4 3', '4 255'].map((pair) =>
  pair.split(' ').map(Number),
)

/** Yields the decompressed body, and the body compressed the way common tools do it. Yields nothing outside of Node. */
export function* compressedBodies(body: Uint8Array): Generator<Hypothesis> {
  for (const name of DECOMPRESS) {
    const decompressed = attempt(name, body, { maxOutputLength: maxDecompressed(body.length) })
    if (decompressed) yield ['body_decompressed', decompressed, 'the decompressed body']
  }
  const isSmall = body.length <= MAX_ALL_LEVELS
  for (const name of COMPRESS) {
    for (const level of isSmall ? [-1, 9, 1, 2, 3, 4, 5, 7, 8] : [-1]) {
      const compressed = attempt(name, body, { level })
      if (!compressed) continue
      yield ['body_decompressed', compressed, 'the compressed body']
      for (const bytes of name === 'gzipSync' ? LEVEL_AND_SYSTEM : []) {
        const copy = compressed.slice()
        copy.set(bytes, 8)
        yield ['body_decompressed', copy, 'the compressed body']
      }
    }
  }
  // The defaults of middleware for Express, of nginx and of Node.
  const quality = zlib?.constants.BROTLI_PARAM_QUALITY ?? 1
  for (const params of isSmall ? [{ [quality]: 4 }, { [quality]: 6 }, {}] : [{ [quality]: 4 }]) {
    const compressed = attempt('brotliCompressSync', body, { params })
    if (compressed) yield ['body_decompressed', compressed, 'the compressed body']
  }
  const zstd = attempt('zstdCompressSync', body)
  if (zstd) yield ['body_decompressed', zstd, 'the compressed body']
}

function attempt(name: string, body: Uint8Array, options?: Options): Uint8Array | undefined {
  try {
    return zlib?.[name]?.(body, options)
  } catch {
    return undefined // invalid in this format, or too large
  }
}

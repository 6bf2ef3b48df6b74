import { utf8 } from '../shared/bytes.ts'
import { decodeAs } from './bytes.ts'
import type { Cause } from './causes.ts'
import { charsetChanges, normalForms } from './charsets.ts'
import { formFieldVariants, formVariants, multipartVariants } from './forms.ts'
import {
  COMPACT,
  type Json,
  type Layout,
  memberAt,
  membersOf,
  PLAIN,
  PYTHON,
  parseJson,
  SPACED,
  type Values,
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
  const text = decodeAs(body, 'utf-8')
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

/** Parses the JSON of an object, an array or a string. */
const treeOf = ({ text }: Source): Json | undefined =>
  /^\s*["[{]/.test(text ?? '') ? parseJson(text ?? '') : undefined

/** Where function hosts, queues and buses put the body of the request. */
const HOSTS: readonly (readonly [host: string, ...paths: string[]])[] = [
  ['an event of AWS Lambda, Netlify or Vercel', 'body', 'event.body'],
  ['a request of Azure Functions', 'rawBody', 'req.body', 'req.rawBody', 'Data.req.Body'],
  ['an event of Amazon SNS or SQS', 'Message', 'Records.0.body', 'Records.0.Sns.Message'],
  ['an event of Amazon EventBridge or Kinesis', 'detail', 'detail.body', 'Records.0.kinesis.data'],
  ['a message of Google Pub/Sub', 'message.data', 'data.message.data'],
  ['a CloudEvent', 'data', 'data_base64', '0.data'],
  ['a request in a log or another event', 'request.body', 'payload.body', 'payload.data'],
]

/** Members of the received JSON that are tested, whatever their names. */
const MAX_MEMBERS = 30

/** Yields one member of the received JSON: its text, its decoded text, or its JSON. */
function* events(source: Source): Generator<Variant> {
  const tree = treeOf(source)
  if (!tree) return
  const what = `one ${tree.kind === 'array' ? 'element of the received JSON array' : 'member of the received JSON'}`
  const members = new Map<Json, string>()
  for (const [host, ...paths] of HOSTS)
    for (const path of paths) {
      const member = memberAt(tree, path)
      if (member) members.set(member, `the member ${path} of the received JSON, as in ${host}`)
    }
  for (const { value } of tree.members.slice(0, MAX_MEMBERS))
    if (!members.has(value)) members.set(value, what)
  for (const [member, description] of members) {
    if (member.kind === 'string') {
      yield [member.text, description]
      yield [decodeBase64(member.text), `${description}, decoded from base64`]
    } else if (/^[[{]/.test(member.raw)) {
      yield [member.raw, description]
      if (/[\s\\]/.test(member.raw))
        yield [writeJson(member, COMPACT, PLAIN), `${description}, in compact JSON`]
      if (source.isSmall) yield [writeJson(member, SPACED, PYTHON), `${description}, written by Python`]
    }
  }
}

/** Members in which senders wrap the payload. */
const WRAPPERS = ['payload', 'data', 'event', 'body', 'events', 'message']

/** Yields JSON that contains the body as its only member. */
function* wrappers(source: Source): Generator<Variant> {
  const { text } = source
  if (text === undefined) return
  const isJson = treeOf(source) !== undefined
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
  let inner = treeOf(source)?.text
  for (let nested = 0; inner && nested < MAX_NESTED; nested++) {
    yield [inner, 'the text inside the JSON string that was received']
    inner = treeOf(createSource(utf8(inner)))?.text
  }
  yield* ofBody(transforms.jsonStrings)(source)
}

/** `%v` of a float64 in Go, the type of every JSON number there. */
function goFloat({ raw }: Json): string {
  const value = Number(raw)
  const [digits, exponent = '0'] = value.toExponential().split('e')
  const size = Number(exponent)
  if (size >= -4 && size < 6) return `${value}`
  return `${digits}e${size < 0 ? '-' : '+'}${`${Math.abs(size)}`.padStart(2, '0')}`
}

/** `inspect` in Ruby, for texts in UTF-8. */
const rubyInspect = (text: string): string =>
  JSON.stringify(text)
    .replace(/#(?=[{$@])/g, '\\#')
    .replaceAll('\\u001b', '\\e')
    .replace(/\\u00(..)/g, (_, hex: string) => `\\x${hex.toUpperCase()}`)

const valuesOf = (
  string: (text: string) => string,
  words: Record<string, string>,
  more?: Partial<Values>,
): Values => ({
  name: string,
  string: ({ text }) => string(text),
  word: (raw) => words[raw] ?? raw,
  ...more,
})

const sortedMembers = ({ members }: Json): Json['members'] =>
  [...members].sort((a, b) => (a.name < b.name ? -1 : 1))

/** Converting a parsed object to text, in Python, Java, Go, and Ruby before and since 3.4. */
const OBJECT_NOTATIONS: readonly (readonly [language: string, layout: Layout, values: Values])[] = [
  ['str of Python', SPACED, valuesOf(pythonRepr, { true: 'True', false: 'False', null: 'None' })],
  ['toString of a Java map', { comma: ', ', colon: '=' }, valuesOf(String, {})],
  [
    '%v of Go',
    { comma: ' ', colon: ':', braces: ['map[', ']'] },
    valuesOf(String, { null: '<nil>' }, { number: goFloat, members: sortedMembers }),
  ],
  ['to_s of Ruby', { comma: ', ', colon: '=>' }, valuesOf(rubyInspect, { null: 'nil' })],
  ['to_s of Ruby', { comma: ', ', colon: ' => ' }, valuesOf(rubyInspect, { null: 'nil' })],
]

/** Yields the payload as languages write it if it is converted to text without a JSON serializer. */
function* stringified(source: Source): Generator<Variant> {
  const { text, isSmall } = source
  const tree = treeOf(source)
  if (tree?.kind === 'array') {
    const texts = tree.members.map(() => '[object Object]').join()
    yield [texts, 'the text [object Object] in place of each element']
  }
  // A receiver that wrote its Buffer as JSON before it verified it: `{"type":"Buffer","data":[…]}`, `[…]` or `{"0":…}`.
  const members = membersOf((tree && memberAt(tree, 'data')) ?? tree)
  const numbers = members.map(({ value }) => (value.kind === 'number' ? Number(value.raw) : -1))
  if (numbers.length > 0 && numbers.every((number) => number >= 0 && number < 256))
    yield [Uint8Array.from(numbers), 'the bytes whose numbers are in the received JSON']
  if (!isSmall) return
  for (const [language, layout, values] of tree ? OBJECT_NOTATIONS : [])
    yield [tree && writeJson(tree, layout, values), `the payload as ${language} writes it`]
  if (text !== undefined) yield [pythonRepr(text), 'the body as repr of Python writes it']
  yield* ofBody(transforms.byteLists)(source)
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
  ['body_charset', ofBody(charsetChanges)],
  ['body_normalized', ofBody(normalForms)],
  ['body_base64', ofBody(transforms.encodings)],
  [
    'body_escaped',
    ofBody(transforms.html, transforms.percentEncodings, transforms.backslashes, withoutDoubleQuotes),
  ],
  ['body_event', wrappers],
  ['body_stringified', stringified],
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
  yield* hypothesesOf(
    [...CHEAP, ...EXPENSIVE].filter(([cause]) => causes.includes(cause)),
    body,
  )
  if (causes.includes('body_reserialized')) yield* writtenBodies(body, maxTexts)
}

function* hypothesesOf(families: Families, body: Uint8Array): Generator<Hypothesis> {
  const source = createSource(body)
  for (const [cause, variants] of families)
    for (const [value, description] of variants(source))
      if (value !== undefined) yield [cause, encodeLike(source, value), description]
}

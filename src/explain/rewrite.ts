import { utf8 } from '../shared/bytes.ts'
import { type Json, type Layout, type Member, parseJson, writeJson } from './json.ts'
import { numbersOf, subsets, type WriteNumber } from './numbers.ts'
import { escapeUnicode } from './transforms.ts'

/** Maximum characters of all texts, for a body of up to 64 KiB. A value counts as five more. */
const MAX_CHARACTERS = 4_000_000
const PER_VALUE = 5

/** Maximum number of texts. Only small bodies reach this limit. */
export const MAX_TEXTS = 1200

/** One way to write a part of JSON. */
interface Option<T> {
  value: T
  /** How unlikely it is, compared with 0 for what most writers do. */
  cost: number
  /** Ends the sentence "The signature was computed over the same JSON …". */
  says: string
}

/** How unlikely the options of a text may be together. */
const MAX_COST = 10

/**
 * Yields the JSON as other programs may have written it: with every combination of layout, order, escapes, numbers,
 * empty values and line ends that differs for this document, likely ones first.
 */
export function* rewriteJson(
  text: string,
  maxTexts: number = MAX_TEXTS,
): Generator<readonly [json: string, description: string]> {
  const tree = parseJson(text)
  if (!tree) return
  const found = survey(tree)
  const choices = [layoutsOf(found), ordersOf(found), writersOf(found), emptiesOf(found), ENDS] as const
  const limit = 4 * text.length + 0x10000
  let left = Math.max(MAX_CHARACTERS, 70 * text.length)
  let texts = 0
  for (let cost = 0; cost <= MAX_COST; cost++) {
    for (const [layout, order, writer, empty, end] of combine(choices, cost)) {
      if (layout.value.indent === undefined && end.value === '\r\n') continue
      if (texts++ === maxTexts || left < 0) return
      const { quote, number } = writer.value
      const json = writeJson(
        tree,
        layout.value,
        {
          name: quote,
          string: (value) => quote(value.text, value.raw),
          number: ({ raw }, member) => number(raw, member),
          members: order.value,
          isEmptyArray: empty.value,
        },
        limit,
      )
      left -= (json?.length ?? limit) + PER_VALUE * found.size
      if (json === undefined) continue
      const [lines, last] =
        end.value.length > 2 ? ['\r\n', '\r\n'] : end.value === '\n' ? ['\n', '\n'] : [end.value, '']
      const says = [layout, order, writer, empty, end].map((option) => option.says).filter(Boolean)
      yield [
        (lines === '\r\n' ? json.replaceAll('\n', lines) : json) + last,
        `the same JSON ${says.join(', ')}`,
      ]
    }
  }
}

type Combination<T> = { -readonly [K in keyof T]: T[K] extends readonly (infer O)[] ? O : never }

/** Yields one option of each choice, whose costs together are exactly this cost. */
function* combine<T extends readonly (readonly Option<unknown>[])[]>(
  choices: T,
  cost: number,
): Generator<Combination<T>> {
  const [first, ...others] = choices
  if (!first) {
    if (cost === 0) yield [] as unknown as Combination<T>
    return
  }
  for (const option of first)
    if (option.cost <= cost)
      for (const rest of combine(others, cost - option.cost))
        yield [option, ...(rest as unknown[])] as Combination<T>
}

/** What a document has that writers treat in different ways. */
interface Survey {
  objects: Json[]
  /** Distinct texts that some writer escapes. */
  strings: Set<string>
  /** Numbers and empty values, each with the name of the closest member that contains it. */
  numbers: Map<string, readonly [raw: string, member: string]>
  empties: Map<string, readonly [isArray: boolean, member: string]>
  hasSingles: boolean
  hasArrays: boolean
  size: number
}

function survey(tree: Json): Survey {
  const flags = { hasSingles: false, hasArrays: false, size: 0 }
  const found: Survey = { objects: [], strings: new Set(), numbers: new Map(), empties: new Map(), ...flags }
  const visit = ({ kind, raw, text, members }: Json, member: string): void => {
    found.size++
    if (kind === 'string' && SPECIAL.test(text)) found.strings.add(text)
    if (kind === 'number') found.numbers.set(`${raw} ${member}`, [raw, member])
    if (/^[[{]/.test(raw) && members.length === 0)
      found.empties.set(kind + member, [kind === 'array', member])
    found.hasSingles ||= members.length === 1
    found.hasArrays ||= kind === 'array' && members.length > 0
    for (const { name, value } of members) {
      if (kind === 'object' && SPECIAL.test(name)) found.strings.add(name)
      if (value.kind === 'object' && value.members.length > 1) found.objects.push(value)
      visit(value, kind === 'object' ? name : member)
    }
  }
  if (tree.kind === 'object') found.objects.push(tree)
  visit(tree, '')
  return found
}

/** Keeps the first option for each key, so that no two options write this document alike. */
function distinct<T>(options: readonly Option<T>[], keyOf: (value: T) => unknown): Option<T>[] {
  const byKey = new Map<unknown, Option<T>>()
  for (const option of options) {
    const key = keyOf(option.value)
    if (!byKey.has(key)) byKey.set(key, option)
  }
  return [...byKey.values()]
}

const indent = (text: string, cost: number, says: string, more?: Partial<Layout>): Option<Layout> => ({
  value: { comma: ',', colon: ': ', indent: text, ...more },
  cost,
  says: `indented ${says}`,
})

const LAYOUTS: readonly Option<Layout>[] = [
  { value: { comma: ',', colon: ':' }, cost: 0, says: 'without white space' },
  { value: { comma: ', ', colon: ': ' }, cost: 1, says: 'with a space after each comma and colon' },
  indent('  ', 1, 'by 2 spaces'),
  indent('    ', 1, 'by 4 spaces'),
  indent(' ', 2, 'by 1 space'),
  indent('\t', 2, 'by tabs'),
  indent('  ', 2, 'as Jackson does', { colon: ' : ', empty: 'space', padsArrays: true }),
  indent('  ', 4, 'as Jackson does, with line breaks in arrays', { colon: ' : ', empty: 'space' }),
  indent('  ', 2, 'as Ruby does before json 2.8', { empty: 'linesOfArrays' }),
  indent('  ', 4, 'as Swift does', { colon: ' : ', empty: 'lines' }),
  indent('    ', 4, 'as jsonb_pretty of PostgreSQL does', { empty: 'line' }),
  ...[4, 2, 1].map((size) => indent(' '.repeat(size), 4, 'as org.json does', { joinsSingles: true })),
  { value: { comma: ',', colon: ': ' }, cost: 3, says: 'with a space after each colon' },
  { value: { comma: ', ', colon: ':' }, cost: 4, says: 'with a space after each comma' },
  { value: { comma: ', ', colon: ' : ' }, cost: 4, says: 'with spaces around each colon' },
  indent('   ', 4, 'by 3 spaces'),
  indent('   ', 5, 'by 3 spaces, with spaces around colons', { colon: ' : ' }),
  indent('        ', 5, 'by 8 spaces'),
  indent('', 5, 'by nothing, on several lines'),
]

const layoutsOf = ({ empties, hasSingles, hasArrays, objects }: Survey): Option<Layout>[] =>
  distinct(LAYOUTS, ({ colon, empty, padsArrays, joinsSingles, ...others }) => {
    const differs = [objects.length > 0 && colon, empties.size > 0 && empty, hasArrays && padsArrays]
    return JSON.stringify([others, ...differs, hasSingles && joinsSingles])
  })

/** Line ends, and what follows the JSON. */
const ENDS: readonly Option<'' | '\n' | '\r\n' | '\r\n\r\n'>[] = [
  { value: '', cost: 0, says: '' },
  { value: '\n', cost: 1, says: 'with a line feed at its end' },
  { value: '\r\n', cost: 2, says: 'with CR LF' },
  { value: '\r\n\r\n', cost: 3, says: 'with CR LF, also at its end' },
]

/** Returns the members of an object in another order. */
type Order = (json: Json) => readonly Member[]

/** Keeps the last of several members with the same name, at the place of the first one. */
function unique(members: readonly Member[]): readonly Member[] {
  const last = new Map(members.map((member) => [member.name, member]))
  return last.size === members.length ? members : [...last.values()]
}

const sortBy = <T>(
  members: readonly Member[],
  keyOf: (name: string) => T,
  compare: (a: T, b: T) => number,
): Member[] =>
  members
    .map((member) => [keyOf(member.name), member] as const)
    .sort(([a], [b]) => compare(a, b))
    .map(([, member]) => member)

/** Compares UTF-8 bytes, which have the same order as code points. */
function compareBytes(a: Uint8Array, b: Uint8Array): number {
  for (let at = 0; at < a.length && at < b.length; at++) {
    const difference = (a[at] as number) - (b[at] as number)
    if (difference !== 0) return difference
  }
  return a.length - b.length
}

/** Orders the members of a JavaScript object: integers below 2^32 - 1 come first, in ascending order. */
function javaScript({ members }: Json): readonly Member[] {
  const isIndex = ({ name }: Member): boolean => /^(0|[1-9]\d{0,9})$/.test(name) && Number(name) < 2 ** 32 - 1
  const indexes = sortBy(members.filter(isIndex), Number, (a, b) => a - b)
  return unique(indexes.length ? [...indexes, ...members.filter((member) => !isIndex(member))] : members)
}

/** Orders the members of a HashMap of Java: by the bucket that String.hashCode chooses. */
function hashMap({ members }: Json): readonly Member[] {
  const own = unique(members)
  let buckets = 16
  while (own.length > 0.75 * buckets) buckets *= 2
  const bucketOf = (name: string): number => {
    let hash = 0
    for (let at = 0; at < name.length; at++) hash = (Math.imul(31, hash) + name.charCodeAt(at)) | 0
    return (hash ^ (hash >>> 16)) & (buckets - 1)
  }
  return sortBy(own, bucketOf, (a, b) => a - b)
}

/** Member names in documented payloads (docs/senders.md), in the order in which services write them. */
const PAYLOADS: readonly string[][] = [
  'serviceType,changesUrl,name,id,folderName,serviceName,events',
  'serviceType,jobId,statusURL,name,taskName,folderName,serviceName,events',
  'name,layerId,orgId,serviceName,lastUpdatedTime,changesUrl,events',
  'name,layerId,orgId,serviceName,lastUpdatedTime,changesUrl,changeType',
  'info,events',
  'webhookName,webhookId,portalURL,when',
  'username,userId,when,operation,source,id,properties',
  'eventType,when',
].map((names) => names.split(','))

function documented({ members }: Json): readonly Member[] {
  const names = PAYLOADS.find((payload) => members.every(({ name }) => payload.includes(name)))
  return names
    ? sortBy(
        members,
        (name) => names.indexOf(name),
        (a, b) => a - b,
      )
    : members
}

const byUnits = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)
const byLength = (a: Uint8Array, b: Uint8Array): number => a.length - b.length || compareBytes(a, b)

const ORDERS: readonly Option<Order>[] = [
  { value: ({ members }) => members, cost: 0, says: '' },
  { value: ({ members }) => sortBy(members, utf8, compareBytes), cost: 1, says: 'with sorted names' },
  {
    value: ({ members }) => sortBy(members, String, byUnits),
    cost: 2,
    says: 'with names sorted by UTF-16 units',
  },
  { value: documented, cost: 3, says: 'with the members in the documented order' },
  {
    value: ({ members }) => sortBy(unique(members), utf8, byLength),
    cost: 2,
    says: 'with short names first, as in jsonb',
  },
  { value: hashMap, cost: 2, says: "with the members in the order of Java's HashMap" },
  { value: javaScript, cost: 3, says: 'with the members in the order of JavaScript' },
]

/** Returns the orders that differ for this document. Each sorts an object only once. */
function ordersOf({ objects }: Survey): Option<Order>[] {
  const places = new Map(
    objects.map((json) => [json, new Map(json.members.map((member, at) => [member, at]))]),
  )
  return distinct(
    ORDERS.map((option) => {
      const byObject = new Map(objects.map((json) => [json, option.value(json)]))
      return { ...option, value: (json: Json) => byObject.get(json) ?? json.members }
    }),
    (order) => objects.map((json) => order(json).map((member) => places.get(json)?.get(member))).join('|'),
  )
}

/** Characters that some writer escapes. */
const SPECIAL = /[^ !#-%(-*,-.0-;?-[\]-_a-~]/

/** Which characters a writer escapes as `\uXXXX`, compared with JSON.stringify, and other replacements. */
interface Escapes {
  units?: RegExp
  /** Which of those, and of the control characters, have upper-case hex digits. */
  upper?: RegExp
  others?: readonly (readonly [from: RegExp, to: string])[]
}

const ASCII = /[\x80-\uffff]/g
const LINES = /[\u2028\u2029]/g
const HTML = /[<>&\u2028\u2029]/g
const SLASH = [/\//g, '\\/'] as const
const QUOTE = [/\\\\|\\"/g, '\\u0022'] as const
const CONTROLS = [
  [/\\\\|\\b/g, '\\u0008'],
  [/\\\\|\\f/g, '\\u000c'],
] as const

/** Escapes and numbers of programs, popular ones first. A program of the same kind often has the same. */
const WRITERS: readonly (readonly [name: string, cost: number, numbers: string, escapes: Escapes])[] = [
  ['JavaScript', 0, 'JavaScript', {}],
  ['Python', 0, 'Python', { units: /[\x7f-\uffff]/g }],
  ['PHP', 0, 'PHP', { units: ASCII, others: [SLASH] }],
  ['Go', 1, 'Go', { units: HTML }],
  ['Go before 1.22', 1, 'Go', { units: HTML, others: CONTROLS }],
  ['Jackson', 1, 'Java', { upper: /./ }],
  ['Gson', 1, 'Java', { units: /[<>&='\u2028\u2029]/g }],
  ['Ruby', 1, 'Ruby', {}],
  ['Rails', 2, 'Ruby', { units: HTML }],
  ['Python without ensure_ascii', 1, 'Python', {}],
  ['PHP with JSON_UNESCAPED_UNICODE', 1, 'PHP', { units: LINES, others: [SLASH] }],
  ['PHP with JSON_UNESCAPED_SLASHES', 1, 'PHP', { units: ASCII }],
  ['PHP with JSON_UNESCAPED_UNICODE and _SLASHES', 1, 'PHP', { units: LINES }],
  ['System.Text.Json', 1, '.NET', { units: /[<>&'+`\x7f-\uffff]/g, upper: /./, others: [QUOTE] }],
  ['Newtonsoft.Json', 1, 'Newtonsoft', { units: /[\x85\u2028\u2029]/g }],
  ['jq', 1, 'jq', { units: /\x7f/g }],
  ['PostgreSQL', 1, 'PostgreSQL', {}],
  ['Go without HTML escapes', 2, 'Go', { units: LINES, others: CONTROLS }],
  ['Gson without HTML escapes', 2, 'Java', { units: LINES }],
  ['Jackson with ESCAPE_NON_ASCII', 2, 'Java', { units: ASCII, upper: /./ }],
  ['org.json', 2, 'Java', { units: /[\x80-\x9f\u2000-\u20ff]/g, others: [[/<\//g, '<\\/']] }],
  ['json-simple', 3, 'Java', { units: /[\x7f-\x9f\u2000-\u20ff]/g, upper: /./, others: [SLASH] }],
  ['PHP with JSON_PRESERVE_ZERO_FRACTION', 2, 'PHP zeros', { units: ASCII, others: [SLASH] }],
  ['PHP with JSON_PRESERVE_ZERO_FRACTION, unescaped', 2, 'PHP zeros', { units: LINES }],
  [
    'PHP with JSON_HEX_TAG, _AMP, _APOS and _QUOT',
    3,
    'PHP',
    { units: /[<>&'\x80-\uffff]/g, upper: /[<>&']/, others: [SLASH, QUOTE] },
  ],
  ['jq -a', 2, 'jq', { units: /[\x7f-\uffff]/g }],
  [
    'System.Text.Json with relaxed escapes',
    2,
    '.NET',
    {
      units:
        /[\x7f-\xa0\u1680\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\ud800-\uf8ff\ufeff\ufff0-\uffff]/g,
      upper: /./,
    },
  ],
  ['Newtonsoft.Json with EscapeNonAscii', 3, 'Newtonsoft', { units: ASCII }],
  ['Newtonsoft.Json with EscapeHtml', 3, 'Newtonsoft', { units: /[<>&'\x85\u2028\u2029]/g, others: [QUOTE] }],
  ['JavaScriptSerializer', 3, '.NET', { units: /[<>&'\x85\u2028\u2029]/g }],
  ['Swift', 3, 'Swift', { others: [SLASH] }],
  ['Rust', 2, 'Rust', {}],
]

/** Writes a string. @param raw how the received JSON writes it; undefined for a name */
type Quote = (text: string, raw?: string) => string

function quoteAs({ units, upper, others = [] }: Escapes, text: string): string {
  let json = JSON.stringify(text)
  if (upper?.test('\x01'))
    json = json.replace(/\\\\|\\u.{4}/g, (all) => `\\${all.charAt(1)}${all.slice(2).toUpperCase()}`)
  if (units)
    json = escapeUnicode(json, units, (hex) =>
      upper?.test(String.fromCharCode(Number.parseInt(hex, 16))) ? hex.toUpperCase() : hex,
    )
  for (const [from, to] of others) json = json.replace(from, (unit) => (unit === '\\\\' ? unit : to))
  return json
}

interface WriterValue {
  quote: Quote
  number: WriteNumber
}

/** Returns the writers whose output differs for this document, for each choice of which whole numbers are floats. */
function writersOf(found: Survey): Option<WriterValue>[] {
  const strings = [...found.strings]
  const numbers = numbersOf(found.numbers)
  const quotes = WRITERS.map(([name, cost, style, escapes]) => {
    const known = new Map(strings.map((text) => [text, quoteAs(escapes, text)]))
    const quote: Quote = (text) => known.get(text) ?? `"${text}"`
    return { name, cost, style, quote, key: strings.map((text) => known.get(text)).join('\n') }
  })
  const seen = new Set<string>()
  return quotes.flatMap(({ name, cost, style, quote, key }) =>
    numbers
      .filter((number) => number.style === style || number.style === '')
      .flatMap((number): Option<WriterValue>[] => {
        const id = `${key}\n\n${number.key}`
        if (seen.has(id)) return []
        seen.add(id)
        const says = [`as ${name} writes it`, number.says].filter(Boolean).join(', ')
        return [{ value: { quote, number: number.write }, cost: cost + number.cost, says }]
      }),
  )
}

type IsArray = (json: Pick<Json, 'kind'>, member: string) => boolean

/** Returns which empty values are arrays. PHP cannot tell `[]` and `{}` apart. */
function emptiesOf({ empties }: Survey): Option<IsArray>[] {
  const all = [...empties.values()]
  const options: Option<IsArray>[] = [
    { value: ({ kind }) => kind === 'array', cost: 0, says: '' },
    { value: () => true, cost: 2, says: 'with [] in place of {}' },
    ...subsets(all.flatMap(([isArray, member]) => (isArray ? [member] : []))).map((names) => ({
      value: (({ kind }, member) => kind === 'array' && !names.has(member)) as IsArray,
      cost: 3,
      says: 'with {} in place of []',
    })),
  ]
  return distinct(options, (isArray) =>
    all.map(([wasArray, member]) => isArray({ kind: wasArray ? 'array' : 'object' }, member)).join(),
  )
}

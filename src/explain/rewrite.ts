import {
  type Json,
  type Layout,
  type Member,
  parseJson,
  SPACED,
  type Values,
  type WriteNumber,
  writeJson,
} from './json.ts'

/** Maximum characters of all texts, for a body of up to 64 KiB. A value counts as five more. */
const MAX_CHARACTERS = 4_000_000
const PER_VALUE = 5

/** Maximum number of texts. Only small bodies reach this limit. */
export const MAX_TEXTS = 1200

/** How a JSON text is written. */
interface Writing extends Values {
  layout: Layout
  /** The line ending inside the JSON, and the text after the JSON. */
  line: string
  last: string
}

interface Option {
  set: Partial<Writing>
  /** How unlikely it is, compared with 0 for what most writers do. */
  cost: number
  /** Ends the sentence "The signature was computed over the same JSON …". */
  says: string
}

const option = (set: Partial<Writing>, cost: number, says = ''): Option => ({ set, cost, says })

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
  const numbers = numbersOf([...found.numbers.values()])
  const empties = found.hasEmpty ? EMPTIES : EMPTIES.slice(0, 1)
  const choices = [layoutsOf(found), ordersOf(found), writersOf(found), numbers, empties, ENDS]
  const limit = 4 * text.length + 0x10000
  let left = Math.max(MAX_CHARACTERS, 70 * text.length)
  let texts = 0
  for (let cost = 0; cost <= MAX_COST; cost++) {
    for (const options of combine(choices, cost)) {
      const writing = Object.assign({}, ...options.map(({ set }) => set)) as Writing
      const { layout, line, last } = writing
      if (layout.indent === undefined && line !== '\n') continue
      if (texts++ === maxTexts || left < 0) return
      const json = writeJson(tree, layout, writing, limit)
      left -= (json?.length ?? limit) + PER_VALUE * found.size
      if (json === undefined) continue
      const says = options.map((each) => each.says).filter(Boolean)
      yield [(line === '\n' ? json : json.replaceAll('\n', line)) + last, `the same JSON ${says.join(', ')}`]
    }
  }
}

/** Yields one option of each choice, whose costs together are exactly this cost. */
function* combine(choices: readonly (readonly Option[])[], cost: number): Generator<Option[]> {
  const [first, ...others] = choices
  if (!first && cost === 0) yield []
  for (const one of first ?? [])
    if (one.cost <= cost) for (const rest of combine(others, cost - one.cost)) yield [one, ...rest]
}

/** What a document has that writers treat in different ways. */
interface Survey {
  objects: Json[]
  /** Distinct texts that some writer escapes. */
  strings: Set<string>
  /** Numbers, each with the name of the closest member that contains it. */
  numbers: Map<string, readonly [raw: string, member: string]>
  hasEmpty: boolean
  hasArrays: boolean
  size: number
}

function survey(tree: Json): Survey {
  const flags = { hasEmpty: false, hasArrays: false, size: 0 }
  const found: Survey = { objects: [], strings: new Set(), numbers: new Map(), ...flags }
  const visit = (value: Json, member: string): void => {
    const { kind, raw, text, members } = value
    found.size++
    if (kind === 'string' && SPECIAL.test(text)) found.strings.add(text)
    if (kind === 'number') found.numbers.set(`${raw} ${member}`, [raw, member])
    if (kind === 'object' && (value === tree || members.length > 1)) found.objects.push(value)
    found.hasEmpty ||= /^[[{]/.test(raw) && members.length === 0
    found.hasArrays ||= kind === 'array' && members.length > 0
    for (const { name, value: inner } of members) {
      if (kind === 'object' && SPECIAL.test(name)) found.strings.add(name)
      visit(inner, kind === 'object' ? name : member)
    }
  }
  visit(tree, '')
  return found
}

/** Keeps the first option for each key, so that no two options write this document alike. */
function distinct(options: readonly Option[], keyOf: (set: Writing) => string): Option[] {
  const seen = new Set<string>()
  return options.filter(({ set }) => seen.size < seen.add(keyOf(set as Writing)).size)
}

/** Computes the value of each key only once. */
function cached<Key, Value>(compute: (key: Key) => Value): (key: Key) => Value {
  const known = new Map<Key, Value>()
  return (key) => {
    if (!known.has(key)) known.set(key, compute(key))
    return known.get(key) as Value
  }
}

const indent = (text: string, cost: number, says: string, more?: Partial<Layout>): Option =>
  option({ layout: { comma: ',', colon: ': ', indent: text, ...more } }, cost, `indented ${says}`)

const LAYOUTS: readonly Option[] = [
  option({ layout: { comma: ',', colon: ':' } }, 0, 'without white space'),
  option({ layout: SPACED }, 1, 'with a space after each comma and colon'),
  indent('  ', 1, 'by 2 spaces'),
  indent('    ', 1, 'by 4 spaces'),
  indent(' ', 2, 'by 1 space'),
  indent('\t', 2, 'by tabs'),
  indent('  ', 2, 'as Jackson does', { colon: ' : ', isPadded: true }),
  option({ layout: { comma: ',', colon: ': ' } }, 3, 'with a space after each colon'),
  indent('  ', 4, 'by 2 spaces, with spaces around colons', { colon: ' : ' }),
  option({ layout: { comma: ', ', colon: ':' } }, 4, 'with a space after each comma'),
  indent('   ', 4, 'by 3 spaces'),
  indent('        ', 5, 'by 8 spaces'),
  indent('', 5, 'by nothing, on several lines'),
]

const layoutsOf = ({ hasEmpty, hasArrays, objects }: Survey): Option[] =>
  distinct(LAYOUTS, ({ layout: { colon, isPadded, ...others } }) =>
    JSON.stringify([others, objects.length > 0 && colon, (hasEmpty || hasArrays) && isPadded]),
  )

const ENDS: readonly Option[] = [
  option({ line: '\n', last: '' }, 0),
  option({ line: '\n', last: '\n' }, 1, 'with a line feed at its end'),
  option({ line: '\r\n', last: '' }, 2, 'with CR LF'),
  option({ line: '\r\n', last: '\r\n' }, 3, 'with CR LF, also at its end'),
]

/** Which empty values are arrays. PHP cannot tell `[]` and `{}` apart. */
const EMPTIES: readonly Option[] = [
  option({}, 0),
  option({ isEmptyArray: () => true }, 2, 'with [] in place of {}'),
  option({ isEmptyArray: () => false }, 3, 'with {} in place of []'),
]

const byUnits = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

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

/** Returns the names of the documented payload that has all of these members. */
const documented = (members: readonly Member[]): readonly string[] =>
  PAYLOADS.find((payload) => members.every(({ name }) => payload.includes(name))) ?? []

type Compare = (a: string, b: string, names: readonly string[]) => number

const ORDERS: readonly (readonly [compare: Compare, cost: number, says: string])[] = [
  [() => 0, 0, ''],
  [byUnits, 1, 'with sorted names'],
  [(a, b) => a.length - b.length || byUnits(a, b), 2, 'with short names first, as in jsonb'],
  [(a, b, names) => names.indexOf(a) - names.indexOf(b), 3, 'with the members in the documented order'],
]

function ordersOf({ objects }: Survey): Option[] {
  const orders = ORDERS.map(([compare, cost, says]) => {
    const sorted = cached(({ members }: Json) => {
      const names = documented(members)
      return [...members].sort((a, b) => compare(a.name, b.name, names))
    })
    return option({ members: sorted }, cost, says)
  })
  return distinct(orders, ({ members }) =>
    objects.map((json) => members?.(json).map(({ start }) => start)).join('|'),
  )
}

/** Characters that some writer escapes. */
const SPECIAL = /[^ !#-%(-*,-.0-;?-[\]-_a-~]/

/** What a writer escapes as `\uXXXX`, compared with JSON.stringify, and whether it escapes slashes. */
interface Escapes {
  units?: RegExp
  isUpper?: true
  hasSlashes?: true
}

const ASCII = /[\x7f-\uffff]/
const LINES = /[\u2028\u2029]/

/** Escapes of programs, popular ones first. Other programs have the same as one of them. */
const WRITERS: readonly (readonly [name: string, cost: number, escapes: Escapes])[] = [
  ['JavaScript', 0, {}],
  ['Python', 0, { units: ASCII }],
  ['PHP', 0, { units: ASCII, hasSlashes: true }],
  ['Go', 1, { units: /[<>&\u2028\u2029]/ }],
  ['Gson', 1, { units: /[<>&='\u2028\u2029]/ }],
  ['System.Text.Json', 1, { units: /[<>&'+`"\x7f-\uffff]/, isUpper: true }],
  ['PHP with JSON_UNESCAPED_UNICODE', 1, { units: LINES, hasSlashes: true }],
  ['Jackson with ESCAPE_NON_ASCII', 2, { units: ASCII, isUpper: true }],
  ['Gson without HTML escapes', 2, { units: LINES }],
]

function quoteAs({ units = /(?!)/, isUpper, hasSlashes }: Escapes, text: string): string {
  // Escaped characters stay as they are, except quotes that this writer escapes in another way.
  const json = JSON.stringify(text).slice(1, -1)
  const written = json.replace(/\\(?:[^"u]|u.{4})|\\?[^\\]/gs, (part) => {
    const unit = part.length === 2 ? part.charAt(1) : part
    if ((part.length > 1 && part !== '\\"') || unit.search(units) < 0) return part
    const hex = unit.charCodeAt(0).toString(16).padStart(4, '0')
    return `\\u${isUpper ? hex.toUpperCase() : hex}`
  })
  return `"${hasSlashes ? written.replaceAll('/', '\\/') : written}"`
}

function writersOf({ strings }: Survey): Option[] {
  const writers = WRITERS.map(([name, cost, escapes]) => {
    const quote = cached((text: string) => quoteAs(escapes, text))
    const string = (text: string): string => (strings.has(text) ? quote(text) : `"${text}"`)
    return option({ string }, cost, strings.size > 0 ? `as ${name} writes it` : '')
  })
  return distinct(writers, ({ string }) => Array.from(strings, string).join('\n'))
}

/** A finite number as ± d.ddd × 10^exponent, with the fewest digits that identify the double. */
interface Decimal {
  sign: '' | '-'
  digits: string
  exponent: number
  isWhole: boolean
  /** True for a literal without a fraction and an exponent. */
  isInteger: boolean
}

function toDecimal(literal: string): Decimal {
  // A double cannot have the value of 1e999, which some parsers replace by the largest double.
  const value = Math.min(Math.abs(Number(literal)), Number.MAX_VALUE)
  const [mantissa = '', exponent] = value.toExponential().split('e')
  const digits = mantissa.replace('.', '')
  const isWhole = digits.length <= Number(exponent) + 1
  const sign = literal.startsWith('-') ? '-' : ''
  return { sign, digits, exponent: Number(exponent), isWhole, isInteger: /^-?\d+$/.test(literal) }
}

/** Writes all digits, without an exponent and without a fraction of zeros. */
function plain({ sign, digits, exponent }: Decimal): string {
  if (exponent < 0) return `${sign}0.${'0'.repeat(-exponent - 1)}${digits}`
  const whole = sign + digits.slice(0, exponent + 1).padEnd(exponent + 1, '0')
  return digits.length > exponent + 1 ? `${whole}.${digits.slice(exponent + 1)}` : whole
}

/** How a program writes doubles: exponents from the first to the last are written without the letter e. */
interface Style {
  from: number
  to: number
  /** What precedes the digits of an exponent that is not negative, and the minimum number of its digits. */
  e: string
  pad?: number
  /** What follows a whole number, and a whole number in front of an exponent. */
  whole?: '.0'
  point?: '.0'
  /** True if integers are read as doubles too. */
  hasOnlyDoubles?: true
}

const STYLES: readonly Style[] = [
  { from: -6, to: 20, e: 'e+', hasOnlyDoubles: true }, // JavaScript
  { from: -4, to: 15, e: 'e+', pad: 2, whole: '.0' }, // Python
  { from: -4, to: 16, e: 'e+', point: '.0' }, // PHP
  { from: -3, to: 6, e: 'E', whole: '.0', point: '.0' }, // Java
  { from: -6, to: 20, e: 'e+' }, // Go
  { from: -4, to: 15, e: 'e+', pad: 2, whole: '.0', point: '.0' }, // Ruby
  { from: -4, to: 14, e: 'E+', pad: 2 }, // .NET
  { from: -4, to: 14, e: 'E+', pad: 2, whole: '.0' }, // Newtonsoft
]

function writeNumber(decimal: Decimal, isFloat: boolean, literal: string, style: Style): string {
  const { sign, digits, exponent, isWhole, isInteger } = decimal
  if (!isFloat && isWhole && !style.hasOnlyDoubles) return isInteger ? literal : plain(decimal)
  const { from, to, e, pad = 1, whole = '', point = '' } = style
  if (exponent >= from && exponent <= to) return isWhole ? plain(decimal) + whole : plain(decimal)
  const mantissa = digits.length > 1 ? `${digits[0]}.${digits.slice(1)}` : digits + point
  const letter = exponent < 0 ? `${e.charAt(0)}-` : e
  return sign + mantissa + letter + `${Math.abs(exponent)}`.padStart(pad, '0')
}

/** Maximum number of member names whose subsets are all tested, and of different numbers that are compared. */
const MAX_NAMES = 4
const MAX_COMPARED = 500

/** Returns the subsets of some member names, except the empty one. For many names, only all of them and single ones. */
function subsets(names: readonly string[]): ReadonlySet<string>[] {
  if (names.length > MAX_NAMES)
    return [new Set(names), ...names.slice(0, MAX_NAMES).map((name) => new Set([name]))]
  const masks = Array.from({ length: 2 ** names.length - 1 }, (_, index) => index + 1)
  return masks.map((mask) => new Set(names.filter((_, bit) => mask & (1 << bit))))
}

type IsFloat = (decimal: Decimal, member: string) => boolean

/** Returns the ways to write the numbers of a document: as received, and in each style with some of them as floats. */
function numbersOf(numbers: readonly (readonly [raw: string, member: string])[]): Option[] {
  const decimalOf = cached(toDecimal)
  const membersOf = (isWhole: boolean): string[] =>
    numbers.flatMap(([raw, member]) => (decimalOf(raw).isWhole === isWhole ? [member] : []))
  const fractions = new Set(membersOf(false))
  const floats: (readonly [isFloat: IsFloat, cost: number, says: string])[] = [
    [({ isInteger }) => !isInteger, 0, ''],
    [
      ({ isInteger }, member) => !isInteger || fractions.has(member),
      1,
      'whole numbers as floats next to fractions',
    ],
    [() => true, 1, 'all numbers as floats'],
    [({ isWhole }) => !isWhole, 1, 'whole numbers as integers'],
  ]
  for (const names of subsets([...new Set(membersOf(true))]))
    floats.push([({ isWhole }, member) => !isWhole || names.has(member), 2, 'some whole numbers as floats'])
  const options = STYLES.flatMap((style, index) =>
    floats.map(([isFloat, cost, says]) => {
      const write = [false, true].map((asFloat) =>
        cached((raw: string) => writeNumber(decimalOf(raw), asFloat, raw, style)),
      )
      const number: WriteNumber = (raw, member) =>
        write[Number(isFloat(decimalOf(raw), member))]?.(raw) ?? raw
      return option({ number }, cost + (index > 3 ? 1 : 0), says && `with ${says}`)
    }),
  )
  const examples = numbers.slice(0, MAX_COMPARED)
  return distinct([option({ number: (raw) => raw }, 0), ...options], ({ number }) =>
    examples.map(([raw, member]) => number?.(raw, member)).join(' '),
  )
}

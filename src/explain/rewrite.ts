import { type Json, type Layout, type Member, parseJson, SPACED, writeJson } from './json.ts'

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
  const numbers = numbersOf(found.numbers.values())
  const choices = [layoutsOf(found), ordersOf(found), writersOf(found), numbers, EMPTIES, ENDS] as const
  const limit = 4 * text.length + 0x10000
  let left = Math.max(MAX_CHARACTERS, 70 * text.length)
  let texts = 0
  for (let cost = 0; cost <= MAX_COST; cost++) {
    for (const options of combine(choices, cost)) {
      const [layout, order, writer, number, empty, [line, last]] = valuesOf(options)
      if ((layout.indent === undefined && line !== '\n') || (!found.hasEmpty && empty)) continue
      if (texts++ === maxTexts || left < 0) return
      const values = { string: writer, number, members: order, ...(empty && { isEmptyArray: empty }) }
      const json = writeJson(tree, layout, values, limit)
      left -= (json?.length ?? limit) + PER_VALUE * found.size
      if (json === undefined) continue
      const says = options.map((option) => option.says).filter(Boolean)
      yield [(line === '\n' ? json : json.replaceAll('\n', line)) + last, `the same JSON ${says.join(', ')}`]
    }
  }
}

type Combination<T> = { -readonly [K in keyof T]: T[K] extends readonly (infer O)[] ? O : never }
type Values<T> = { [K in keyof T]: T[K] extends Option<infer V> ? V : never }

const valuesOf = <T extends readonly Option<unknown>[]>(options: T): Values<T> =>
  options.map(({ value }) => value) as Values<T>

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
  /** Numbers, each with the name of the closest member that contains it. */
  numbers: Map<string, readonly [raw: string, member: string]>
  hasEmpty: boolean
  hasArrays: boolean
  size: number
}

function survey(tree: Json): Survey {
  const flags = { hasEmpty: false, hasArrays: false, size: 0 }
  const found: Survey = { objects: [], strings: new Set(), numbers: new Map(), ...flags }
  const visit = ({ kind, raw, text, members }: Json, member: string): void => {
    found.size++
    if (kind === 'string' && SPECIAL.test(text)) found.strings.add(text)
    if (kind === 'number') found.numbers.set(`${raw} ${member}`, [raw, member])
    found.hasEmpty ||= /^[[{]/.test(raw) && members.length === 0
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
  { value: SPACED, cost: 1, says: 'with a space after each comma and colon' },
  indent('  ', 1, 'by 2 spaces'),
  indent('    ', 1, 'by 4 spaces'),
  indent(' ', 2, 'by 1 space'),
  indent('\t', 2, 'by tabs'),
  indent('  ', 2, 'as Jackson does', { colon: ' : ', isPadded: true }),
  { value: { comma: ',', colon: ': ' }, cost: 3, says: 'with a space after each colon' },
  indent('  ', 4, 'by 2 spaces, with spaces around colons', { colon: ' : ' }),
  { value: { comma: ', ', colon: ':' }, cost: 4, says: 'with a space after each comma' },
  indent('   ', 4, 'by 3 spaces'),
  indent('        ', 5, 'by 8 spaces'),
  indent('', 5, 'by nothing, on several lines'),
]

const layoutsOf = ({ hasEmpty, hasArrays, objects }: Survey): Option<Layout>[] =>
  distinct(LAYOUTS, ({ colon, isPadded, ...others }) =>
    JSON.stringify([others, objects.length > 0 && colon, (hasEmpty || hasArrays) && isPadded]),
  )

/** Line ends, and what follows the JSON. */
const ENDS: readonly Option<readonly [line: string, last: string]>[] = [
  { value: ['\n', ''], cost: 0, says: '' },
  { value: ['\n', '\n'], cost: 1, says: 'with a line feed at its end' },
  { value: ['\r\n', ''], cost: 2, says: 'with CR LF' },
  { value: ['\r\n', '\r\n'], cost: 3, says: 'with CR LF, also at its end' },
]

/** Which empty values are arrays. PHP cannot tell `[]` and `{}` apart. */
const EMPTIES: readonly Option<((json: Json) => boolean) | undefined>[] = [
  { value: undefined, cost: 0, says: '' },
  { value: () => true, cost: 2, says: 'with [] in place of {}' },
  { value: () => false, cost: 3, says: 'with {} in place of []' },
]

/** Returns the members of an object in another order. */
type Order = (json: Json) => readonly Member[]

const sortBy = (members: readonly Member[], compare: (a: string, b: string) => number): Member[] =>
  [...members].sort((a, b) => compare(a.name, b.name))

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

function documented({ members }: Json): readonly Member[] {
  const names = PAYLOADS.find((payload) => members.every(({ name }) => payload.includes(name)))
  return names ? sortBy(members, (a, b) => names.indexOf(a) - names.indexOf(b)) : members
}

const ORDERS: readonly Option<Order>[] = [
  { value: ({ members }) => members, cost: 0, says: '' },
  { value: ({ members }) => sortBy(members, byUnits), cost: 1, says: 'with sorted names' },
  {
    value: ({ members }) => sortBy(members, (a, b) => a.length - b.length || byUnits(a, b)),
    cost: 2,
    says: 'with short names first, as in jsonb',
  },
  { value: documented, cost: 3, says: 'with the members in the documented order' },
]

/** Returns the orders that differ for this document. Each sorts an object only once. */
function ordersOf({ objects }: Survey): Option<Order>[] {
  const orders = ORDERS.map((option) => {
    const byObject = new Map(objects.map((json) => [json, option.value(json)]))
    return { ...option, value: (json: Json) => byObject.get(json) ?? json.members }
  })
  return distinct(orders, (order) => objects.map((json) => order(json).map(({ start }) => start)).join('|'))
}

/** Characters that some writer escapes. */
const SPECIAL = /[^ !#-%(-*,-.0-;?-[\]-_a-~]/

/** What a writer escapes as `\uXXXX`, compared with JSON.stringify, and whether it escapes slashes. */
interface Escapes {
  units?: RegExp
  isUpper?: true
  hasSlashes?: true
}

const ASCII = /[\x7f-\uffff]/g
const LINES = /[\u2028\u2029]/g

/** Escapes of programs, popular ones first. Other programs have the same as one of them. */
const WRITERS: readonly (readonly [name: string, cost: number, escapes: Escapes])[] = [
  ['JavaScript', 0, {}],
  ['Python', 0, { units: ASCII }],
  ['PHP', 0, { units: ASCII, hasSlashes: true }],
  ['Go', 1, { units: /[<>&\u2028\u2029]/g }],
  ['Gson', 1, { units: /[<>&='\u2028\u2029]/g }],
  ['System.Text.Json', 1, { units: /[<>&'+`"\x7f-\uffff]/g, isUpper: true }],
  ['PHP with JSON_UNESCAPED_UNICODE', 1, { units: LINES, hasSlashes: true }],
  ['Jackson with ESCAPE_NON_ASCII', 2, { units: ASCII, isUpper: true }],
  ['Gson without HTML escapes', 2, { units: LINES }],
]

function quoteAs({ units, isUpper, hasSlashes }: Escapes, text: string): string {
  // Escaped characters stay as they are, except quotes that this writer escapes in another way.
  const json = JSON.stringify(text).slice(1, -1)
  const written = units
    ? json.replace(/\\(?:[^"u]|u.{4})|\\?[^\\]/gs, (part) => {
        const unit = part.length === 2 ? part.charAt(1) : part
        units.lastIndex = 0
        if ((part.length > 1 && part !== '\\"') || !units.test(unit)) return part
        const hex = unit.charCodeAt(0).toString(16).padStart(4, '0')
        return `\\u${isUpper ? hex.toUpperCase() : hex}`
      })
    : json
  return `"${hasSlashes ? written.replaceAll('/', '\\/') : written}"`
}

/** Returns the writers whose texts differ for this document. */
function writersOf({ strings }: Survey): Option<(text: string) => string>[] {
  const writers = WRITERS.map(([name, cost, escapes]) => {
    const known = new Map(Array.from(strings, (text) => [text, quoteAs(escapes, text)]))
    const value = (text: string): string => known.get(text) ?? `"${text}"`
    return { value, cost, says: strings.size > 0 ? `as ${name} writes it` : '' }
  })
  return distinct(writers, (quote) => Array.from(strings, quote).join('\n'))
}

/** Writes a number, given its source text and the name of the closest member that contains it. */
type WriteNumber = (raw: string, member: string) => string

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

/** Returns the subsets of some member names, except the empty one. For many names, only all of them. */
function subsets(names: readonly string[]): ReadonlySet<string>[] {
  const all = [...new Set(names)]
  if (all.length > MAX_NAMES) return [new Set(all), ...all.slice(0, MAX_NAMES).map((name) => new Set([name]))]
  const masks = Array.from({ length: 2 ** all.length - 1 }, (_, index) => index + 1)
  return masks.map((mask) => new Set(all.filter((_, bit) => mask & (1 << bit))))
}

type IsFloat = (decimal: Decimal, member: string) => boolean

/** Returns the ways to write the numbers of a document: as received, and in each style with some of them as floats. */
function numbersOf(numbers: Iterable<readonly [raw: string, member: string]>): Option<WriteNumber>[] {
  const decimals = new Map<string, Decimal>()
  const examples = new Map<string, readonly [raw: string, member: string]>()
  const fractions = new Set<string>()
  const wholes = new Set<string>()
  for (const [raw, member] of numbers) {
    const decimal = toDecimal(raw)
    const { digits, exponent, isWhole, isInteger } = decimal
    decimals.set(raw, decimal)
    ;(isWhole ? wholes : fractions).add(member)
    const kind = [member, exponent, isInteger, digits.length > 1, plain(decimal) === raw].join()
    if (examples.size < MAX_COMPARED) examples.set(kind, [raw, member])
  }
  const floats: readonly (readonly [isFloat: IsFloat, cost: number, says: string])[] = [
    [({ isInteger }) => !isInteger, 0, ''],
    [
      (decimal, member) => !decimal.isInteger || fractions.has(member),
      1,
      'whole numbers as floats next to fractions',
    ],
    [() => true, 1, 'all numbers as floats'],
    [(decimal) => !decimal.isWhole, 1, 'whole numbers as integers'],
    ...subsets([...wholes]).map(
      (names) =>
        [
          (decimal: Decimal, member: string) => !decimal.isWhole || names.has(member),
          2,
          'some whole numbers as floats',
        ] as const,
    ),
  ]
  const options: Option<WriteNumber>[] = [{ value: (raw) => raw, cost: 0, says: '' }]
  const seen = new Set([Array.from(examples.values(), ([raw]) => raw).join(' ')])
  for (const [index, style] of STYLES.entries()) {
    for (const [isFloat, cost, says] of floats) {
      const written = new Map<string, string>()
      const value: WriteNumber = (raw, member) => {
        const decimal = decimals.get(raw) as Decimal
        const asFloat = isFloat(decimal, member)
        const id = `${raw} ${asFloat}`
        const known = written.get(id) ?? writeNumber(decimal, asFloat, raw, style)
        written.set(id, known)
        return known
      }
      const key = Array.from(examples.values(), ([raw, member]) => value(raw, member)).join(' ')
      if (seen.has(key)) continue
      seen.add(key)
      options.push({ value, cost: cost + (index > 3 ? 1 : 0), says: says && `with ${says}` })
    }
  }
  return options
}

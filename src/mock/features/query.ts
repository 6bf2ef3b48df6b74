import { AdminError, quote } from '../http/errors.ts'
import {
  type Feature,
  type Field,
  type FieldType,
  findField,
  type Layer,
  toGlobalId,
  toIdText,
  type Value,
} from './model.ts'

/** Which features to find. All given conditions must apply. */
export interface FeatureQuery {
  /** Default 0. */
  layerId?: number | undefined
  /** For example `name = 'Oak' AND height > 10`; docs/mock.md says what is supported. Default: all features. */
  where?: string | undefined
  objectIds?: readonly number[] | undefined
  /** Names of fields, comma-separated, or `*`. Default `*`. */
  outFields?: string | undefined
  /** Names of fields, each with `ASC` or `DESC`, comma-separated. */
  orderByFields?: string | undefined
}

/** The conditions of a query. The ids come from a request, so they can have any type. */
interface Selection extends Pick<FeatureQuery, 'where' | 'orderByFields'> {
  objectIds?: readonly unknown[] | undefined
  globalIds?: readonly unknown[] | undefined
}

const SUPPORTED =
  'the mock supports fields, texts, numbers, TIMESTAMP and DATE, = <> < > <= >=, IN, LIKE, IS NULL, AND, OR, NOT and parentheses'

export function findFeatures(
  layer: Layer,
  { where, objectIds, globalIds, orderByFields }: Selection,
): Feature[] {
  const condition = where === undefined ? undefined : parseWhere(layer, where)
  let found = [...layer.features.values()]
  if (objectIds) {
    const ids = new Set(objectIds.map((id) => Number(toIdText(id) || Number.NaN)))
    found = found.filter(({ objectId }) => ids.has(objectId))
  }
  if (globalIds) {
    const ids = new Set(globalIds.map(toGlobalId))
    found = found.filter(({ globalId }) => ids.has(globalId))
  }
  if (condition) found = found.filter(({ attributes }) => condition(attributes) === true)
  return orderByFields === undefined ? found : sort(layer, found, orderByFields)
}

function sort(layer: Layer, features: Feature[], orderByFields: string): Feature[] {
  // A repeated field cannot change the order.
  const signs = new Map<string, number>()
  for (const part of orderByFields.split(',')) {
    const [name = '', direction = 'ASC', ...more] = part.trim().split(/\s+/)
    const field = findField(layer, name)
    const sign = { ASC: 1, DESC: -1 }[direction.toUpperCase()]
    if (!field || !sign || more.length > 0)
      throw new AdminError(400, 'orderByFields must be names of fields, each with ASC or DESC')
    if (!signs.has(field.name)) signs.set(field.name, sign)
  }
  const keys = [...signs]
  return features.sort((one, other) => {
    for (const [name, sign] of keys) {
      const order = compareValues(one.attributes[name] ?? null, other.attributes[name] ?? null)
      if (order !== 0) return order * sign
    }
    return 0
  })
}

/** Null comes first. */
function compareValues(one: Value, other: Value): number {
  if (one === other) return 0
  if (one === null || other === null) return one === null ? -1 : 1
  return one < other ? -1 : 1
}

/**
 * Reads the names of fields, comma-separated; `*` selects all.
 *
 * @returns undefined for all fields
 */
export function readOutFields(layer: Layer, outFields: string | undefined): string[] | undefined {
  if (outFields === undefined) return undefined
  const names = [...new Set(outFields.split(',').map((name) => name.trim()))]
  if (names.includes('*')) return undefined
  return names.map((name) => {
    const field = findField(layer, name)
    if (field) return field.name
    throw new AdminError(400, `outFields has ${quote(name)}, which is not a field of the layer`)
  })
}

/** A feature in Esri JSON. */
export interface FoundFeature {
  attributes: Record<string, Value>
  /** Absent if the feature has no geometry. */
  geometry?: object
}

/** @param names undefined for all fields */
export const toFeatureJson = (
  { attributes, geometry }: Pick<Feature, 'attributes' | 'geometry'>,
  names?: readonly string[],
  withGeometry = true,
): FoundFeature => ({
  attributes: Object.fromEntries(
    (names ?? Object.keys(attributes)).map((name) => [name, attributes[name] ?? null]),
  ),
  ...(withGeometry && geometry ? { geometry } : {}),
})

type Token =
  | { type: 'word' | 'symbol'; text: string }
  | { type: 'string'; value: string }
  | { type: 'number'; value: number }

const MAX_LENGTH = 4000
const MAX_TOKENS = 1000

/** In a string, two quotes are one escaped quote. */
const TOKEN =
  /\s*(?:'(?<string>(?:[^']|'')*)'|"(?<quoted>[^"]*)"|(?<symbol><>|[<>!]=|[=<>(),])|(?<number>-?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?)|(?<word>[\p{L}\p{N}_.$#]+))\s*/iuy

const invalid = (reason: string): AdminError =>
  new AdminError(400, `where is not valid: ${reason}; ${SUPPORTED}`)

function tokenize(where: string): Token[] {
  const text = where.trim()
  if (text.length > MAX_LENGTH) throw invalid(`it is longer than ${MAX_LENGTH} characters`)
  const tokens: Token[] = []
  TOKEN.lastIndex = 0
  for (let position = 0; position < text.length; position = TOKEN.lastIndex) {
    const found = TOKEN.exec(text)
    if (!found) throw invalid(describeUnknown(text.slice(position)))
    tokens.push(toToken(found.groups))
    if (tokens.length > MAX_TOKENS) throw invalid(`it has more than ${MAX_TOKENS} parts`)
  }
  return tokens
}

function toToken({
  string,
  quoted,
  symbol,
  number,
  word = '',
}: Record<string, string | undefined> = {}): Token {
  if (string !== undefined) return { type: 'string', value: string.replaceAll("''", "'") }
  if (number !== undefined) return { type: 'number', value: Number(number) }
  return symbol === undefined ? { type: 'word', text: quoted ?? word } : { type: 'symbol', text: symbol }
}

function describeUnknown(rest: string): string {
  const [character = ''] = rest
  if (character === "'" || character === '"')
    return `a ${character} is missing at the end of a text or a name`
  return `${JSON.stringify(character)} is not supported`
}

/** Undefined means unknown: the result of a comparison with null. */
type Truth = boolean | undefined

/** A field or a value in a condition. */
interface Operand {
  kind: 'text' | 'number' | 'id'
  value(attributes: Readonly<Record<string, Value>>): Value
}

/** A condition on the attributes of a feature; undefined means unknown, as comparisons with null are. */
type Condition = (attributes: Readonly<Record<string, Value>>) => Truth

type Test = (one: string | number, other: string | number) => boolean

const isEqual: Test = (one, other) => one === other

const TESTS: ReadonlyMap<string, Test> = new Map([
  ['=', isEqual],
  ['<>', (one, other) => one !== other],
  ['!=', (one, other) => one !== other],
  ['<', (one, other) => one < other],
  ['>', (one, other) => one > other],
  ['<=', (one, other) => one <= other],
  ['>=', (one, other) => one >= other],
])

function compare(test: Test, left: Operand, right: Operand): Condition {
  const isId = left.kind === 'id' || right.kind === 'id'
  if ((left.kind === 'number') !== (right.kind === 'number'))
    throw invalid('a number is compared with a text')
  return (attributes) => {
    const values = [left.value(attributes), right.value(attributes)]
    // Braces and case of ids do not matter.
    const [one, other] = isId ? values.map((value) => toGlobalId(value) ?? value) : values
    if (one === null || one === undefined || other === null || other === undefined) return undefined
    return test(one, other)
  }
}

const MAX_PATTERN = 256

/** Matches a text with a pattern, in which `%` matches any text and `_` one character. */
function matches(text: string, pattern: string): boolean {
  let [at, inPattern] = [0, 0]
  // Where to continue if the rest does not match: after the last `%`, which then matches one more character.
  let [retry, afterPercent] = [0, -1]
  while (at < text.length) {
    const expected = pattern[inPattern]
    if (expected === '%') {
      inPattern += 1
      ;[retry, afterPercent] = [at, inPattern]
    } else if (expected === '_' || expected === text[at]) {
      at += 1
      inPattern += 1
    } else if (afterPercent >= 0) {
      retry += 1
      ;[at, inPattern] = [retry, afterPercent]
    } else return false
  }
  while (pattern[inPattern] === '%') inPattern += 1
  return inPattern === pattern.length
}

const MAX_DEPTH = 50

function parseWhere(layer: Pick<Layer, 'fields'>, text: string): Condition {
  const tokens = tokenize(text)
  let position = 0
  let depth = 0

  const peekWord = (): string => {
    const token = tokens[position]
    return token?.type === 'word' ? token.text.toUpperCase() : ''
  }

  /** Skips a token if it is this word or symbol. */
  function accept(text: string): boolean {
    const token = tokens[position]
    const isIt = token?.type === 'symbol' ? token.text === text : peekWord() === text
    if (isIt) position += 1
    return isIt
  }

  function expect(text: string): void {
    if (!accept(text)) throw invalid(`${text} is missing ${place(tokens[position])}`)
  }

  /** Parses an expression that can contain itself. */
  function nested(parse: () => Condition): Condition {
    depth += 1
    if (depth > MAX_DEPTH) throw invalid(`it is nested more than ${MAX_DEPTH} deep`)
    const condition = parse()
    depth -= 1
    return condition
  }

  /** Parses conditions with a word between them. OR is decided by a true one, AND by a false one. */
  function parseJoined(word: 'OR' | 'AND', parse: () => Condition): Condition {
    const parts = [parse()]
    while (accept(word)) parts.push(parse())
    return (attributes) => decide(parts, attributes, word === 'OR')
  }

  const parseOr = (): Condition => parseJoined('OR', () => parseJoined('AND', parseNot))

  function parseNot(): Condition {
    if (accept('NOT')) return negate(nested(parseNot))
    if (!accept('(')) return parsePredicate()
    const condition = nested(parseOr)
    expect(')')
    return condition
  }

  function parsePredicate(): Condition {
    const left = parseOperand()
    if (accept('IS')) {
      const isNegated = accept('NOT')
      expect('NULL')
      return (attributes) => (left.value(attributes) === null) !== isNegated
    }
    const isNegated = accept('NOT')
    const condition = accept('IN') ? parseIn(left) : accept('LIKE') ? parseLike(left) : undefined
    if (condition) return isNegated ? negate(condition) : condition
    const token = tokens[position]
    const test = token?.type === 'symbol' && !isNegated ? TESTS.get(token.text) : undefined
    if (!test) throw invalid(`there is no comparison ${place(token)}`)
    position += 1
    return compare(test, left, parseOperand())
  }

  function parseIn(left: Operand): Condition {
    expect('(')
    const parts: Condition[] = []
    do parts.push(compare(isEqual, left, parseOperand()))
    while (accept(','))
    expect(')')
    return (attributes) => decide(parts, attributes, true)
  }

  function parseLike(left: Operand): Condition {
    const token = tokens[position]
    if (token?.type !== 'string') throw invalid('LIKE must be followed by a text in quotes')
    const { value: pattern } = token
    if (left.kind === 'number') throw invalid('LIKE is for texts')
    if (pattern.length > MAX_PATTERN) throw invalid(`a pattern is longer than ${MAX_PATTERN} characters`)
    position += 1
    return (attributes) => {
      const value = left.value(attributes)
      return value === null ? undefined : matches(String(value), pattern)
    }
  }

  function parseOperand(): Operand {
    const token = tokens[position]
    position += 1
    if (token?.type === 'string') return { kind: 'text', value: () => token.value }
    if (token?.type === 'number') return { kind: 'number', value: () => token.value }
    if (token?.type !== 'word') throw invalid(`a field or a value is missing ${place(token)}`)
    const next = tokens[position]
    if (/^(TIMESTAMP|DATE)$/i.test(token.text) && next?.type === 'string') {
      position += 1
      return toDate(next.value)
    }
    const field = findField(layer, token.text)
    if (!field) throw invalid(`there is no field ${quote(token.text)}`)
    return toOperand(field)
  }

  const condition = parseOr()
  if (position < tokens.length) throw invalid(`it does not end ${place(tokens[position])}`)
  return condition
}

const negate =
  (condition: Condition): Condition =>
  (attributes) => {
    const truth = condition(attributes)
    return truth === undefined ? undefined : !truth
  }

/** Joins conditions with OR (`decisive` is true) or AND (`decisive` is false). */
function decide(parts: readonly Condition[], attributes: Parameters<Condition>[0], decisive: boolean): Truth {
  let result: Truth = !decisive
  for (const part of parts) {
    const truth = part(attributes)
    if (truth === decisive) return decisive
    if (truth === undefined) result = undefined
  }
  return result
}

const KINDS: Partial<Record<FieldType, Operand['kind']>> = {
  esriFieldTypeGUID: 'id',
  esriFieldTypeGlobalID: 'id',
  esriFieldTypeString: 'text',
}

const toOperand = ({ name, type }: Field): Operand => ({
  kind: KINDS[type] ?? 'number',
  value: (attributes) => attributes[name] ?? null,
})

/** A time in UTC, for example `2026-01-31` or `2026-01-31 12:00:00`. */
function toDate(text: string): Operand {
  const isTime = /^\d{4}-\d\d-\d\d([ T]\d\d:\d\d:\d\d(\.\d{1,3})?)?$/.test(text)
  const time = isTime ? Date.parse(`${text.replace(' ', 'T')}${text.length > 10 ? 'Z' : ''}`) : Number.NaN
  if (Number.isNaN(time)) throw invalid('a date must be like 2026-01-31 or 2026-01-31 12:00:00')
  return { kind: 'number', value: () => time }
}

function place(token: Token | undefined): string {
  if (!token) return 'at the end'
  const text = 'text' in token ? token.text : String(token.value)
  return `before ${quote(text)}`
}

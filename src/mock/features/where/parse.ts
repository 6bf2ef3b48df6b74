import { type Field, findField, type Layer, type Value } from '../model.ts'
import { compare, like, type Operand, type Truth } from './evaluate.ts'
import { type Token, tokenize, WhereError } from './tokens.ts'

/** A condition on the attributes of a feature; undefined means unknown, as comparisons with null are. */
export type Condition = (attributes: Readonly<Record<string, Value>>) => Truth

const MAX_DEPTH = 50
const COMPARISONS: readonly string[] = ['=', '<>', '!=', '<', '>', '<=', '>=']

/** @throws {WhereError} */
export function parseWhere(layer: Pick<Layer, 'fields'>, text: string): Condition {
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
    if (!accept(text)) throw new WhereError(`${text} is missing ${place(tokens[position])}`)
  }

  /** Parses an expression that can contain itself. */
  function nested(parse: () => Condition): Condition {
    depth += 1
    if (depth > MAX_DEPTH) throw new WhereError(`it is nested more than ${MAX_DEPTH} deep`)
    const condition = parse()
    depth -= 1
    return condition
  }

  function parseOr(): Condition {
    const parts = [parseAnd()]
    while (accept('OR')) parts.push(parseAnd())
    return (attributes) => decide(parts, attributes, true)
  }

  function parseAnd(): Condition {
    const parts = [parseNot()]
    while (accept('AND')) parts.push(parseNot())
    return (attributes) => decide(parts, attributes, false)
  }

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
    if (isNegated || token?.type !== 'symbol' || !COMPARISONS.includes(token.text))
      throw new WhereError(`there is no comparison ${place(token)}`)
    position += 1
    return compare(token.text, left, parseOperand())
  }

  function parseIn(left: Operand): Condition {
    expect('(')
    const parts: Condition[] = []
    do parts.push(compare('=', left, parseOperand()))
    while (accept(','))
    expect(')')
    return (attributes) => decide(parts, attributes, true)
  }

  function parseLike(left: Operand): Condition {
    const token = tokens[position]
    if (token?.type !== 'string') throw new WhereError('LIKE must be followed by a text in quotes')
    position += 1
    return like(left, token.value)
  }

  function parseOperand(): Operand {
    const token = tokens[position]
    position += 1
    if (token?.type === 'string') return { kind: 'text', value: () => token.value }
    if (token?.type === 'number') return { kind: 'number', value: () => token.value }
    if (token?.type !== 'word') throw new WhereError(`a field or a value is missing ${place(token)}`)
    const next = tokens[position]
    if (/^(TIMESTAMP|DATE)$/i.test(token.text) && next?.type === 'string') {
      position += 1
      return toDate(next.value)
    }
    const field = findField(layer, token.text)
    if (!field) throw new WhereError(`there is no field ${JSON.stringify(token.text.slice(0, 64))}`)
    return toOperand(field)
  }

  const condition = parseOr()
  if (position < tokens.length) throw new WhereError(`it does not end ${place(tokens[position])}`)
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

const TEXTS: readonly string[] = ['esriFieldTypeString']
const IDS: readonly string[] = ['esriFieldTypeGUID', 'esriFieldTypeGlobalID']

const toOperand = ({ name, type }: Field): Operand => ({
  kind: IDS.includes(type) ? 'id' : TEXTS.includes(type) ? 'text' : 'number',
  value: (attributes) => attributes[name] ?? null,
})

/** A time in UTC, for example `2026-01-31` or `2026-01-31 12:00:00`. @throws {WhereError} */
function toDate(text: string): Operand {
  const isTime = /^\d{4}-\d\d-\d\d([ T]\d\d:\d\d:\d\d(\.\d{1,3})?)?$/.test(text)
  const time = isTime ? Date.parse(`${text.replace(' ', 'T')}${text.length > 10 ? 'Z' : ''}`) : Number.NaN
  if (Number.isNaN(time)) throw new WhereError('a date must be like 2026-01-31 or 2026-01-31 12:00:00')
  return { kind: 'number', value: () => time }
}

function place(token: Token | undefined): string {
  if (!token) return 'at the end'
  const text = 'text' in token ? token.text : String(token.value)
  return `before ${JSON.stringify(text.slice(0, 64))}`
}

import { toGlobalId, type Value } from '../model.ts'
import { WhereError } from './tokens.ts'

/** Undefined means unknown: the result of a comparison with null. */
export type Truth = boolean | undefined

/** A field or a value in a condition. */
export interface Operand {
  kind: 'text' | 'number' | 'id'
  value(attributes: Readonly<Record<string, Value>>): Value
}

type Condition = (attributes: Readonly<Record<string, Value>>) => Truth

const TESTS: Readonly<Record<string, (one: string | number, other: string | number) => boolean>> = {
  '=': (one, other) => one === other,
  '<>': (one, other) => one !== other,
  '!=': (one, other) => one !== other,
  '<': (one, other) => one < other,
  '>': (one, other) => one > other,
  '<=': (one, other) => one <= other,
  '>=': (one, other) => one >= other,
}

/** @throws {WhereError} if the operands are of different kinds */
export function compare(operator: string, left: Operand, right: Operand): Condition {
  const isId = left.kind === 'id' || right.kind === 'id'
  if ((left.kind === 'number') !== (right.kind === 'number'))
    throw new WhereError('a number is compared with a text')
  const test = TESTS[operator] as (one: string | number, other: string | number) => boolean
  return (attributes) => {
    const values = [left.value(attributes), right.value(attributes)]
    // Braces and case of ids do not matter.
    const [one, other] = isId ? values.map((value) => toGlobalId(value) ?? value) : values
    if (one === null || one === undefined || other === null || other === undefined) return undefined
    return test(one, other)
  }
}

const MAX_PATTERN = 256

/** @throws {WhereError} */
export function like(operand: Operand, pattern: string): Condition {
  if (operand.kind === 'number') throw new WhereError('LIKE is for texts')
  if (pattern.length > MAX_PATTERN) throw new WhereError(`a pattern is longer than ${MAX_PATTERN} characters`)
  return (attributes) => {
    const value = operand.value(attributes)
    return value === null ? undefined : matches(String(value), pattern)
  }
}

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

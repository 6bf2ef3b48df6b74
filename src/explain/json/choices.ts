import type { Decimal } from './numbers.ts'
import type { EmptyLiteral, NumberLiteral } from './parse.ts'

/** A change to the values that a parser or a serializer made because its language cannot tell two values apart. */
export interface Choice<T> {
  value: T
  /** How unlikely it is, compared with 0 for no change. */
  cost: number
  /** Completes "the same JSON as X writes it, …". */
  description: string
}

/** Which whole numbers are floats: those at true. `literal` keeps the received literals of all numbers. */
export type FloatChoice = readonly boolean[] | 'literal'

/** Maximum number of places, or of member names, whose subsets are all tested. */
const MAX_FLOATS = 6
const MAX_EMPTIES = 4

/** Maximum number of values in all subsets together. */
const MAX_VALUES = 5000

/**
 * Returns the sets of whole numbers that may be floats: as received, all below a member that also contains fractions,
 * all, none, and the subsets of a few places.
 */
export function floatChoices(
  numbers: readonly NumberLiteral[],
  decimals: readonly Decimal[],
): Choice<FloatChoice>[] {
  const isWhole = decimals.map((decimal) => decimal.isWhole)
  const received = decimals.map((decimal) => !decimal.isInteger)
  const withFraction = new Set(numbers.filter((_, index) => !isWhole[index]).map(({ member }) => member))
  const mixed = numbers.map(({ member }, index) => received[index] || withFraction.has(member))
  const choices: Choice<FloatChoice>[] = [
    { value: received, cost: 0, description: '' },
    { value: 'literal', cost: 1, description: 'with its numbers as received' },
    { value: mixed, cost: 1, description: 'with whole numbers as floats next to fractions' },
    { value: numbers.map(() => true), cost: 2, description: 'with all numbers as floats' },
    { value: isWhole.map((whole) => !whole), cost: 2, description: 'with whole numbers as integers' },
  ]
  const members = numbers.map(({ member }) => member)
  for (const subset of subsets(members, isWhole, MAX_FLOATS)) {
    const value = isWhole.map((whole, index) => !whole || (subset[index] as boolean))
    choices.push({ value, cost: 4, description: 'with some whole numbers as floats' })
  }
  return distinct(choices)
}

/** Returns which empty objects and arrays are arrays. PHP and Lua cannot tell them apart. */
export function emptyChoices(empties: readonly EmptyLiteral[]): Choice<readonly boolean[]>[] {
  const received = empties.map(({ isArray }) => isArray)
  const choices: Choice<readonly boolean[]>[] = [
    { value: received, cost: 0, description: '' },
    { value: empties.map(() => true), cost: 3, description: 'with [] in place of {}' },
    { value: empties.map(() => false), cost: 3, description: 'with {} in place of []' },
  ]
  const members = empties.map(({ member }) => member)
  for (const subset of subsets(members, received, MAX_EMPTIES)) {
    const value = received.map((isArray, index) => isArray && !subset[index])
    choices.push({ value, cost: 4, description: 'with {} in place of some []' })
  }
  return distinct(choices)
}

/**
 * Yields subsets of the places where `isFree` is true: of single places if there are few, otherwise of the places
 * below the same member name if those are few. For many values, yields only one group alone, and all but one.
 */
function* subsets(members: readonly string[], isFree: readonly boolean[], max: number): Generator<boolean[]> {
  const places = members.flatMap((_, index) => (isFree[index] ? [index] : []))
  const names = [...new Set(places.map((index) => members[index]))]
  const groups: (number | string | undefined)[] = places.length <= max ? places : names
  if (groups.length > max) return
  const all = 2 ** groups.length - 1
  const isFew = members.length * all <= MAX_VALUES
  for (let mask = 1; mask <= all; mask++) {
    const isPower = (bits: number): boolean => (bits & (bits - 1)) === 0
    if (!isFew && !isPower(mask) && !isPower(all - mask)) continue
    const chosen = new Set(groups.filter((_, bit) => mask & (1 << bit)))
    yield members.map(
      (member, index) => (isFree[index] as boolean) && (chosen.has(index) || chosen.has(member)),
    )
  }
}

function distinct<T>(choices: readonly Choice<T>[]): Choice<T>[] {
  const byText = new Map<string, Choice<T>>()
  for (const choice of choices) {
    const text = `${choice.value}`
    if (!byText.has(text)) byText.set(text, choice)
  }
  return [...byText.values()]
}

/** Random numbers that depend only on a seed. */
export interface Random {
  /** A number from 0 to, but not including, 1. */
  next(): number
  /** A whole number from `min` to `max`. */
  whole(min: number, max: number): number
  /** An entry of a list that is not empty. */
  pick<T>(list: readonly T[]): T
  /** True with this probability. */
  chance(probability: number): boolean
}

/** Mulberry32, a generator with 32 bits of state. */
export function createRandom(seed: number): Random {
  let state = seed >>> 0
  function next(): number {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const whole = (min: number, max: number): number => min + Math.floor(next() * (max - min + 1))
  return {
    next,
    whole,
    pick: <T>(list: readonly T[]): T => list[whole(0, list.length - 1)] as T,
    chance: (probability) => next() < probability,
  }
}

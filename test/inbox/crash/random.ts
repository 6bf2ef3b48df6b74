/** Pseudorandom number generator (mulberry32): the same seed yields the same numbers. */
export interface Random {
  /** Returns a number from 0 to 1, excluding 1. */
  next(): number
  /** Returns a whole number in a range, both ends included. */
  between(min: number, max: number): number
}

export function createRandom(seed: number): Random {
  let state = seed >>> 0
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0
    let bits = Math.imul(state ^ (state >>> 15), state | 1)
    bits ^= bits + Math.imul(bits ^ (bits >>> 7), bits | 61)
    return ((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32
  }
  return { next, between: (min, max) => min + Math.floor(next() * (max - min + 1)) }
}

/** Parses a seed. Without a text, returns a random seed, which the caller must print. */
export const toSeed = (text: string | undefined): number =>
  text === undefined ? Math.floor(Math.random() * 2 ** 32) : Number(text)

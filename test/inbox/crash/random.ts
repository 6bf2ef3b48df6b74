/** Numbers that look like chance and are the same for the same seed (mulberry32). */
export interface Random {
  /** From 0 to 1, without 1. */
  next(): number
  /** A whole number, both ends included. */
  between(least: number, most: number): number
}

export function createRandom(seed: number): Random {
  let state = seed >>> 0
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0
    let bits = Math.imul(state ^ (state >>> 15), state | 1)
    bits ^= bits + Math.imul(bits ^ (bits >>> 7), bits | 61)
    return ((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32
  }
  return { next, between: (least, most) => least + Math.floor(next() * (most - least + 1)) }
}

/** The one that was asked for, or one by chance; whoever takes it prints it. */
export const toSeed = (text: string | undefined): number =>
  text === undefined ? Math.floor(Math.random() * 2 ** 32) : Number(text)

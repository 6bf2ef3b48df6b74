import { expect } from 'vitest'

const KB = 1024

/** Strings that may be slow to parse, trim or match when they are repeated many times. */
const PIECES = [
  ...' \t\xa0,;"\'=%+-_./\\:&?#(){}[]<>|~^*@!$',
  ...'0a9Z\x80\x85\xad\xff',
  ...['; ', ' ;', ' ,', '\t ', '\xa0 ', '%4', '%41', '%zz', '=;', '""', '\\"', 'a=b&', 'a/b+'],
  ...[';charset=', ';charset="', '; charset=utf-8', 'identity', 'identity ', 'application/', 'x.y-z+json'],
  ...['sha256=', 'payload=', 'crc_token=', '&crc_token=a', '0x1'],
]

/** A function that returns a text of approximately the given length. */
export type TextOfLength = (length: number) => string

/**
 * Returns a function for each combination of a repeated piece and an ending. An ending that a regular expression does
 * not match can make the expression backtrack through the repeated pieces.
 */
export const repeatedPieces = (...ends: string[]): TextOfLength[] =>
  PIECES.flatMap((piece) => ends.map((end) => (length) => piece.repeat(length / piece.length) + end))

async function millisecondsOf(run: () => unknown): Promise<number> {
  const start = performance.now()
  await run()
  return performance.now() - start
}

/**
 * Returns true if a long text takes less than `bound` times as long as a short one. Compares the fastest of several
 * runs, because other work on the machine can only make a run slower.
 */
async function isBelow(bound: number, run: (text: string) => unknown, short: string, long: string) {
  let shortTime = Number.POSITIVE_INFINITY
  let longTime = Number.POSITIVE_INFINITY
  // Times below 0.05 ms are too short to measure.
  const ratio = (): number => longTime / Math.max(shortTime, 0.05)
  for (let i = 0; i < 3 || (i < 50 && ratio() >= bound); i++) {
    shortTime = Math.min(shortTime, await millisecondsOf(() => run(short)))
    longTime = Math.min(longTime, await millisecondsOf(() => run(long)))
  }
  return ratio() < bound
}

/**
 * Fails if the time is not linear in the length of the text. For 16 times the length, linear code takes 16 times as
 * long, and quadratic code 256 times. The bound is far above 16, because V8 needs less time for each character of a text
 * of a few KB (measured: up to 75 times as long). If the ratio is above the bound, longer texts decide: for 8 times the
 * length, quadratic code takes 64 times as long.
 */
export async function expectLinear(run: (text: string) => unknown, textOf: TextOfLength): Promise<void> {
  const long = textOf(64 * KB)
  const isLinear =
    (await isBelow(100, run, textOf(4 * KB), long)) || (await isBelow(32, run, long, textOf(512 * KB)))
  expect(isLinear, `${JSON.stringify(long.slice(0, 40))}… takes linear time`).toBe(true)
}

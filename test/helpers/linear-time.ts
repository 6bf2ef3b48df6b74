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
 * Fails if 64 KB take at least 100 times as long as 4 KB: linear code takes 16 times as long, quadratic code 256 times.
 * The bound is far above 16, because V8 matches short texts in a faster way (measured: up to 50 times as long).
 * Compares the fastest of several runs, because other work on the machine can only make a run slower.
 */
export async function expectLinear(run: (text: string) => unknown, textOf: TextOfLength): Promise<void> {
  const [short, long] = [textOf(4 * KB), textOf(64 * KB)]
  let shortTime = Number.POSITIVE_INFINITY
  let longTime = Number.POSITIVE_INFINITY
  // Times below 0.05 ms are too short to measure.
  const ratio = (): number => longTime / Math.max(shortTime, 0.05)
  for (let i = 0; i < 3 || (i < 200 && ratio() >= 100); i++) {
    shortTime = Math.min(shortTime, await millisecondsOf(() => run(short)))
    longTime = Math.min(longTime, await millisecondsOf(() => run(long)))
    if (longTime > 1000) break // too slow for linear code, even on a busy machine
  }
  expect(ratio(), JSON.stringify(long.slice(0, 40))).toBeLessThan(100)
}

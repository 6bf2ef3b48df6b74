import { expect } from 'vitest'

const KB = 1024

/** Pieces that parsers, trimming and regular expressions stumble over. Each is repeated. */
const PIECES = [
  ...' \t\xa0,;"\'=%+-_./\\:&?#(){}[]<>|~^*@!$',
  ...'0a9Z\x80\x85\xad\xff',
  ...['; ', ' ;', ' ,', '\t ', '\xa0 ', '%4', '%41', '%zz', '=;', '""', '\\"', 'a=b&', 'a/b+'],
  ...[';charset=', ';charset="', '; charset=utf-8', 'identity', 'identity ', 'application/', 'x.y-z+json'],
  ...['sha256=', 'payload=', 'crc_token=', '&crc_token=a', '0x1'],
]

/** A text of a length: one piece again and again. */
export type Filling = (length: number) => string

/** Every piece, with each of these ends: an end that differs keeps a pattern for the whole text from matching. */
export const fillings = (...ends: string[]): Filling[] =>
  PIECES.flatMap((piece) => ends.map((end) => (length) => piece.repeat(length / piece.length) + end))

async function millisecondsOf(run: () => unknown): Promise<number> {
  const start = performance.now()
  await run()
  return performance.now() - start
}

/**
 * Fails where 64 KB take more than 40 times as long as 4 KB: linear time is 16 times as long, quadratic time 256 times.
 * The fastest of several runs counts, because other work on the machine only makes a run slower.
 */
export async function expectLinear(run: (text: string) => unknown, filling: Filling): Promise<void> {
  const [short, long] = [filling(4 * KB), filling(64 * KB)]
  let shortest = Number.POSITIVE_INFINITY
  let longest = Number.POSITIVE_INFINITY
  // The clock cannot measure less than 0.05 ms well.
  const ratio = (): number => longest / Math.max(shortest, 0.05)
  for (let i = 0; i < 3 || (i < 200 && ratio() >= 40); i++) {
    shortest = Math.min(shortest, await millisecondsOf(() => run(short)))
    longest = Math.min(longest, await millisecondsOf(() => run(long)))
    if (longest > 1000) break // no other work explains that
  }
  expect(ratio(), JSON.stringify(long.slice(0, 40))).toBeLessThan(40)
}

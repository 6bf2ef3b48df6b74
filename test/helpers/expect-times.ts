import { expect } from 'vitest'

async function millisecondsOf(run: () => unknown): Promise<number> {
  const start = performance.now()
  await run()
  return performance.now() - start
}

/**
 * Fails if a function takes at least `factor` times as long as another one. Compares the fastest of several runs in
 * turns, because other work on the machine can only make a run slower.
 */
export async function expectTimes(factor: number, run: () => unknown, base: () => unknown): Promise<void> {
  let usual = Number.POSITIVE_INFINITY
  let measured = Number.POSITIVE_INFINITY
  for (let round = 0; round < 3 || (round < 40 && measured / usual >= factor); round++) {
    usual = Math.min(usual, await millisecondsOf(base))
    measured = Math.min(measured, await millisecondsOf(run))
    if (measured > 5000) break
  }
  expect(measured / usual).toBeLessThan(factor)
}

import { expect } from 'vitest'

/** CPU time in milliseconds. */
async function timeOf(run: () => unknown): Promise<number> {
  const start = process.cpuUsage()
  await run()
  const { user, system } = process.cpuUsage(start)
  return (user + system) / 1000
}

/**
 * Fails if a function takes at least `factor` times the CPU time of another one. Compares the fastest of several runs in
 * turns, because other work on the machine can only make a run slower.
 */
export async function expectTimes(factor: number, run: () => unknown, base: () => unknown): Promise<void> {
  let usual = Number.POSITIVE_INFINITY
  let measured = Number.POSITIVE_INFINITY
  for (let round = 0; round < 3 || (round < 40 && measured / usual >= factor); round++) {
    usual = Math.min(usual, await timeOf(base))
    measured = Math.min(measured, await timeOf(run))
    if (measured > 5000) break
  }
  expect(measured / usual).toBeLessThan(factor)
}

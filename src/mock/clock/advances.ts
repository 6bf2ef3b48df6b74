import { configInvalid } from '../../errors.ts'
import type { Clock } from './clock.ts'

/** Methods of a clock that can be advanced. */
interface Advances extends Required<Pick<Clock, 'during'>> {
  advance(milliseconds: number): Promise<void>
}

/**
 * Creates the methods of a clock that can be advanced. Concurrent advances run one after the other.
 *
 * @param advanceBy advances the clock; gets the attempts in flight
 */
export function createAdvances(
  advanceBy: (milliseconds: number, attempts: ReadonlySet<Promise<unknown>>) => Promise<void>,
): Advances {
  const attempts = new Set<Promise<unknown>>()
  let lastAdvance: Promise<void> = Promise.resolve()
  return {
    during(work) {
      const settled: Promise<unknown> = work.then(
        () => attempts.delete(settled),
        () => attempts.delete(settled),
      )
      attempts.add(settled)
    },
    async advance(milliseconds) {
      if (!Number.isInteger(milliseconds) || milliseconds < 0)
        throw configInvalid('milliseconds must be a whole number, 0 or more')
      const advanced = lastAdvance.then(() => advanceBy(milliseconds, attempts))
      lastAdvance = advanced.catch(() => {})
      await advanced
    },
  }
}

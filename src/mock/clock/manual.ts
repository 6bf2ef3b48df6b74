import { configInvalid } from '../../errors.ts'
import { createAdvances } from './advances.ts'
import { type Clock, LAST_TIME } from './clock.ts'
import { createWaiters } from './waiters.ts'

/** A clock whose time changes only when a test advances it. */
export interface ManualClock extends Clock {
  /**
   * Advances the time from one waiting task to the next, and pauses while an attempt is in flight: an hour of windows
   * and retries takes only as long as the receiver needs to respond. The times of concurrent calls add up. A receiver
   * must not wait for it while it handles a delivery: each would wait for the other.
   *
   * @param milliseconds a whole number, 0 or more
   * @throws {WebhookError} `config_invalid` for any other value, and for a time after the last valid date
   */
  advance(milliseconds: number): Promise<void>
}

/**
 * Creates a clock for tests.
 *
 * @param start milliseconds since 1970; default: now
 * @throws {WebhookError} `config_invalid` for an invalid time
 * @example
 * ```ts
 * import { createManualClock, createMockService } from 'geohook/mock'
 *
 * const clock = createManualClock()
 * const service = createMockService({ clock, services: [{ serviceName: 'Parcels', serviceType: 'FeatureServer' }] })
 * await clock.advance(3_600_000)
 * await service.close()
 * ```
 */
export function createManualClock(start: number = Date.now()): ManualClock {
  if (!Number.isSafeInteger(start) || start < 0 || start > LAST_TIME)
    throw configInvalid('start must be a time in whole milliseconds since 1970')
  let now = start
  const waiters = createWaiters()

  async function advanceBy(milliseconds: number, attempts: ReadonlySet<Promise<unknown>>): Promise<void> {
    const target = now + milliseconds
    if (target > LAST_TIME) throw configInvalid('the clock cannot advance past the last valid date')
    for (;;) {
      await settle(attempts)
      const next = waiters.first()
      if (!next || next.due > target) break
      now = next.due
      next.finish()
    }
    now = target
  }

  return {
    now: () => now,
    async wait(milliseconds, signal) {
      signal?.throwIfAborted()
      if (milliseconds > 0) await waiters.add(now + milliseconds, signal)
    },
    ...createAdvances(advanceBy),
  }
}

/** Waits until nothing is in flight and callbacks of ended attempts have run. */
async function settle(attempts: ReadonlySet<Promise<unknown>>): Promise<void> {
  do {
    await Promise.all(attempts)
    await new Promise((resolve) => setImmediate(resolve))
  } while (attempts.size > 0)
}

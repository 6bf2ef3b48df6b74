import { setTimeout as pause } from 'node:timers/promises'
import { configInvalid } from '../../errors.ts'
import { createAdvances } from './advances.ts'
import { type Clock, LAST_TIME, LONGEST_TIMER } from './clock.ts'
import { createWaiters, type Waiter } from './waiters.ts'

/** A clock that runs with the real time, and can be advanced. */
export interface RunningClock extends Clock {
  /**
   * Advances the time from one waiting task to the next. After each, it waits for the attempts in flight, so that their
   * retries are part of the advance, but no longer than 250 ms for an attempt that hangs. The clock never stops. The
   * times of concurrent calls add up.
   *
   * @param milliseconds a whole number, 0 or more
   * @throws {WebhookError} `config_invalid` for any other value, and for a time in the last 100 years
   *   that a date can have
   */
  advance(milliseconds: number): Promise<void>
}

/** Longest real time in milliseconds that an advance waits for an attempt in flight. */
const PATIENCE = 250
/** Longest real time in milliseconds that a step of an advance waits, however many attempts begin in the meantime. */
const MAX_STEP = 1_000
/** Milliseconds between the last time to advance to and the last valid date, because the clock runs on: 100 years. */
const RESERVE = 100 * 366 * 86_400_000

/**
 * Creates a clock that runs with the real time, and can be advanced. `geohook mock` uses it.
 *
 * @example
 * ```ts
 * import { createMockService, createRunningClock } from 'geohook/mock'
 *
 * const clock = createRunningClock()
 * const service = createMockService({ clock, services: [{ serviceName: 'Parcels', serviceType: 'FeatureServer' }] })
 * await clock.advance(20_000) // closes windows that end in the next 20 seconds
 * await service.close()
 * ```
 */
export function createRunningClock(): RunningClock {
  /** Sum of all advances. */
  let offset = 0
  const timers = new Map<Waiter, NodeJS.Timeout>()
  const waiters = createWaiters((waiter) => {
    startTimer(waiter)
    return () => {
      clearTimeout(timers.get(waiter))
      timers.delete(waiter)
    }
  })
  /** Attempts in flight for which an advance has waited long enough. */
  const hanging = new WeakSet<Promise<unknown>>()

  const now = (): number => Date.now() + offset

  function startTimer(waiter: Waiter): void {
    clearTimeout(timers.get(waiter))
    const onTime = (): void => (waiter.due > now() ? startTimer(waiter) : waiter.finish())
    const remaining = Math.min(Math.max(waiter.due - now(), 0), LONGEST_TIMER)
    timers.set(waiter, setTimeout(onTime, remaining))
  }

  /** Waits until nothing is in flight and callbacks of ended attempts have run, for a limited time. */
  async function settle(attempts: ReadonlySet<Promise<unknown>>): Promise<void> {
    const end = performance.now() + MAX_STEP
    while (performance.now() < end) {
      await new Promise((resolve) => setImmediate(resolve))
      const pending = [...attempts].filter((attempt) => !hanging.has(attempt))
      if (pending.length === 0) return
      const stop = new AbortController()
      const isLate = pause(PATIENCE, true, { signal: stop.signal }).catch(() => false)
      if (await Promise.race([Promise.all(pending).then(() => false), isLate])) {
        for (const attempt of pending) if (attempts.has(attempt)) hanging.add(attempt)
      }
      stop.abort()
    }
  }

  async function advanceBy(milliseconds: number, attempts: ReadonlySet<Promise<unknown>>): Promise<void> {
    if (now() + milliseconds > LAST_TIME - RESERVE)
      throw configInvalid('the clock cannot advance past the last valid date')
    const target = offset + milliseconds
    for (;;) {
      await settle(attempts)
      const next = waiters.first()
      const step = next ? Math.max(0, next.due - now()) : Number.POSITIVE_INFINITY
      if (!next || offset + step > target) break
      offset += step
      next.finish()
    }
    offset = target
    for (const waiter of waiters) startTimer(waiter)
  }

  return {
    now,
    async wait(milliseconds, signal) {
      signal?.throwIfAborted()
      if (milliseconds > 0) await waiters.add(now() + milliseconds, signal)
    },
    ...createAdvances(advanceBy),
  }
}

import { setTimeout as pause } from 'node:timers/promises'
import { configInvalid } from '../errors.ts'
import { type Clock, LAST_TIME, LONGEST_TIMER } from './clock.ts'

/** A clock that runs with the real time, and can be advanced. */
export interface RunningClock extends Clock {
  /**
   * Advances the time from one waiting task to the next. After each, it waits for the attempts in flight, so that their
   * retries are part of the advance, but no longer than 250 ms for an attempt that hangs. The clock never stops. The
   * times of concurrent calls add up.
   *
   * @param milliseconds a whole number, 0 or more
   * @throws {WebhookError} `config_invalid` for any other value, and for a time after the last valid date
   */
  advance(milliseconds: number): Promise<void>
}

interface Waiter {
  due: number
  timer: NodeJS.Timeout | undefined
  resolve(): void
}

/** Longest real time in milliseconds that an advance waits for an attempt in flight. */
const PATIENCE = 250

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
  const waiting = new Set<Waiter>()
  const inFlight = new Set<Promise<unknown>>()
  /** Attempts in flight for which an advance has waited long enough. */
  const hanging = new WeakSet<Promise<unknown>>()
  let lastAdvance: Promise<void> = Promise.resolve()

  const now = (): number => Date.now() + offset

  function startTimer(waiter: Waiter): void {
    clearTimeout(waiter.timer)
    const remaining = waiter.due - now()
    waiter.timer = setTimeout(
      () => (waiter.due > now() ? startTimer(waiter) : finish(waiter)),
      Math.min(Math.max(remaining, 0), LONGEST_TIMER),
    )
  }

  function finish(waiter: Waiter): void {
    clearTimeout(waiter.timer)
    waiting.delete(waiter)
    waiter.resolve()
  }

  /** Waits until nothing is in flight and callbacks of ended attempts have run; hanging attempts are ignored. */
  async function settle(): Promise<void> {
    for (;;) {
      await new Promise((resolve) => setImmediate(resolve))
      const attempts = [...inFlight].filter((attempt) => !hanging.has(attempt))
      if (attempts.length === 0) return
      const stop = new AbortController()
      const isLate = pause(PATIENCE, true, { signal: stop.signal }).catch(() => false)
      if (await Promise.race([Promise.all(attempts).then(() => false), isLate])) {
        for (const attempt of attempts) if (inFlight.has(attempt)) hanging.add(attempt)
      }
      stop.abort()
    }
  }

  async function advanceBy(milliseconds: number): Promise<void> {
    if (now() + milliseconds > LAST_TIME)
      throw configInvalid('the clock cannot advance past the last valid date')
    const target = offset + milliseconds
    for (;;) {
      await settle()
      const [next] = [...waiting].sort((a, b) => a.due - b.due)
      const step = next ? Math.max(0, next.due - now()) : Number.POSITIVE_INFINITY
      if (!next || offset + step > target) break
      offset += step
      finish(next)
    }
    offset = target
    for (const waiter of waiting) startTimer(waiter)
  }

  return {
    now,
    wait(milliseconds, signal) {
      return new Promise((resolve, reject) => {
        if (signal?.aborted) return reject(signal.reason)
        if (milliseconds <= 0) return resolve()
        const abort = (): void => {
          clearTimeout(waiter.timer)
          waiting.delete(waiter)
          reject(signal?.reason)
        }
        const waiter: Waiter = {
          due: now() + milliseconds,
          timer: undefined,
          resolve() {
            signal?.removeEventListener('abort', abort)
            resolve()
          },
        }
        waiting.add(waiter)
        startTimer(waiter)
        signal?.addEventListener('abort', abort, { once: true })
      })
    },
    during(work) {
      const settled: Promise<unknown> = work.then(
        () => inFlight.delete(settled),
        () => inFlight.delete(settled),
      )
      inFlight.add(settled)
    },
    async advance(milliseconds) {
      if (!Number.isInteger(milliseconds) || milliseconds < 0)
        throw configInvalid('milliseconds must be a whole number, 0 or more')
      const advanced = lastAdvance.then(() => advanceBy(milliseconds))
      lastAdvance = advanced.catch(() => {})
      await advanced
    },
  }
}

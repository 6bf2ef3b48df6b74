import { setTimeout as pause } from 'node:timers/promises'
import { configInvalid } from '../errors.ts'

/** The time of a mock service: schedule windows, retry gaps, tokens and timestamps follow it. */
export interface Clock {
  /** Milliseconds since 1970. */
  now(): number
  /** Resolves after the given time; rejects with the signal's reason if it is aborted first. */
  wait(milliseconds: number, signal?: AbortSignal): Promise<void>
  /** Called with the promise of each attempt. A manual clock uses it to pause while an attempt is in flight. */
  during?(work: Promise<unknown>): void
}

/** The last valid Date (ECMA-262, section 21.4.1.1). */
export const LAST_TIME = 8.64e15
/** Longest delay of a Node timer in milliseconds. Longer delays overflow. */
const LONGEST_TIMER = 2 ** 31 - 1

/** A clock that can be advanced. */
export interface ManualClock extends Clock {
  /**
   * Advances the time from one waiting task to the next. After each, it waits for the attempts in flight, so that their
   * retries are part of the advance. A running clock waits no longer than 250 ms for an attempt that hangs; on a clock
   * for tests, a receiver must not wait for the advance while it handles a delivery, because each would wait for the
   * other. The times of concurrent calls add up.
   *
   * @param milliseconds a whole number, 0 or more
   * @throws {WebhookError} `config_invalid` for any other value, and for a time after the last valid date; a running
   *   clock keeps 100 years before that date in reserve
   */
  advance(milliseconds: number): Promise<void>
}

export const canAdvance = (clock: Clock): clock is ManualClock =>
  typeof (clock as Partial<ManualClock>).advance === 'function'

/**
 * Creates a clock for tests, whose time changes only when a test advances it: an hour of windows and retries takes only
 * as long as the receiver needs to respond.
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
  return createClock(() => start, false)
}

/**
 * Creates a clock that runs with the real time, and can be advanced. It never stops. It is the default.
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
export const createRunningClock = (): ManualClock => createClock(Date.now, true)

/** Longest real time in milliseconds that the advance of a running clock waits for an attempt in flight. */
const PATIENCE = 250
/** Longest real time in milliseconds that a step of such an advance waits, however many attempts begin meanwhile. */
const MAX_STEP = 1_000
/** Milliseconds between the last time to advance a running clock to and the last valid date: 100 years. */
const RESERVE = 100 * 366 * 86_400_000

/** A task that is due at a time. */
interface Waiter {
  /** Milliseconds since 1970. */
  readonly due: number
  timer?: NodeJS.Timeout
  finish(): void
}

/** @param base returns the time without the advances */
function createClock(base: () => number, isRunning: boolean): ManualClock {
  /** Sum of all advances. */
  let offset = 0
  let lastAdvance: Promise<void> = Promise.resolve()
  const waiting = new Set<Waiter>()
  const attempts = new Set<Promise<unknown>>()
  /** Attempts in flight for which an advance has waited long enough. */
  const hanging = new WeakSet<Promise<unknown>>()
  const lastTime = isRunning ? LAST_TIME - RESERVE : LAST_TIME

  const now = (): number => base() + offset

  /** Starts the timer of a task again. Without timers, only advances finish tasks. */
  function startTimer(waiter: Waiter): void {
    if (!isRunning) return
    clearTimeout(waiter.timer)
    const onTime = (): void => (waiter.due > now() ? startTimer(waiter) : waiter.finish())
    waiter.timer = setTimeout(onTime, Math.min(Math.max(waiter.due - now(), 0), LONGEST_TIMER))
  }

  const addWaiter = (due: number, signal: AbortSignal | undefined): Promise<void> =>
    new Promise((resolve, reject) => {
      const end = (): void => {
        waiting.delete(waiter)
        clearTimeout(waiter.timer)
        signal?.removeEventListener('abort', abort)
      }
      const abort = (): void => {
        end()
        reject(signal?.reason)
      }
      const waiter: Waiter = {
        due,
        finish() {
          end()
          resolve()
        },
      }
      waiting.add(waiter)
      signal?.addEventListener('abort', abort, { once: true })
      startTimer(waiter)
    })

  /** Waits until nothing is in flight and callbacks of ended attempts have run. */
  async function settle(): Promise<void> {
    const end = performance.now() + (isRunning ? MAX_STEP : Infinity)
    while (performance.now() < end) {
      await new Promise((resolve) => setImmediate(resolve))
      const pending = [...attempts].filter((attempt) => !hanging.has(attempt))
      if (pending.length === 0) return
      const ended = Promise.all(pending).then(() => false)
      const stop = new AbortController()
      // The timer keeps the process alive: otherwise it would end in the middle of the advance.
      const late = isRunning && pause(PATIENCE, true, { signal: stop.signal }).catch(() => false)
      const isLate = await (late ? Promise.race([ended, late]) : ended)
      stop.abort()
      if (isLate) for (const attempt of pending) hanging.add(attempt)
    }
  }

  async function advanceBy(milliseconds: number): Promise<void> {
    if (now() + milliseconds > lastTime)
      throw configInvalid('the clock cannot advance past the last valid date')
    const target = offset + milliseconds
    for (;;) {
      await settle()
      let next: Waiter | undefined
      for (const waiter of waiting) if (!next || waiter.due < next.due) next = waiter
      const step = Math.max(0, (next?.due ?? Infinity) - now())
      if (!next || offset + step > target) break
      offset += step
      next.finish()
    }
    offset = target
    for (const waiter of waiting) startTimer(waiter)
  }

  return {
    now,
    async wait(milliseconds, signal) {
      signal?.throwIfAborted()
      if (milliseconds > 0) await addWaiter(now() + milliseconds, signal)
    },
    during(work) {
      const remove = (): boolean => attempts.delete(settled)
      const settled: Promise<unknown> = work.then(remove, remove)
      attempts.add(settled)
    },
    async advance(milliseconds) {
      if (!Number.isInteger(milliseconds) || milliseconds < 0)
        throw configInvalid('milliseconds must be a whole number, 0 or more')
      // Concurrent advances run one after the other.
      const advanced = lastAdvance.then(() => advanceBy(milliseconds))
      lastAdvance = advanced.catch(() => {})
      await advanced
    },
  }
}

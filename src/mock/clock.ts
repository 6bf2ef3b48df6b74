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

/** A clock that can be advanced, such as a manual or a running one. */
export interface AdvancingClock extends Clock {
  advance(milliseconds: number): Promise<void>
}

export const canAdvance = (clock: Clock): clock is AdvancingClock =>
  typeof (clock as Partial<AdvancingClock>).advance === 'function'

/**
 * Creates the methods of a clock that can be advanced. Concurrent advances run one after the other.
 *
 * @param advanceBy advances the clock; gets the attempts in flight
 */
function createAdvances(
  advanceBy: (milliseconds: number, attempts: ReadonlySet<Promise<unknown>>) => Promise<void>,
): Required<Pick<AdvancingClock, 'advance' | 'during'>> {
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

/** A task that is due at a time. */
interface Waiter {
  /** Milliseconds since 1970. */
  readonly due: number
  /** Ends the wait. */
  finish(): void
}

/** The waiting tasks of a clock that can be advanced. */
interface Waiters extends Iterable<Waiter> {
  /**
   * Adds a task. The promise resolves when the task is finished, and rejects if the signal is aborted first.
   *
   * @param signal not yet aborted
   */
  add(due: number, signal: AbortSignal | undefined): Promise<void>
  /** Returns the task whose time comes first. */
  first(): Waiter | undefined
}

/** @param onAdded called with each new task; it may return a function to call when the task ends */
function createWaiters(onAdded: (waiter: Waiter) => (() => void) | undefined = () => undefined): Waiters {
  const waiting = new Set<Waiter>()
  return {
    add(due, signal) {
      return new Promise((resolve, reject) => {
        const end = (): void => {
          waiting.delete(waiter)
          signal?.removeEventListener('abort', abort)
          onEnded?.()
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
        const onEnded = onAdded(waiter)
      })
    },
    first() {
      let first: Waiter | undefined
      for (const waiter of waiting) if (!first || waiter.due < first.due) first = waiter
      return first
    },
    [Symbol.iterator]: () => waiting.values(),
  }
}

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
 * Creates a clock that runs with the real time, and can be advanced. It is the default.
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

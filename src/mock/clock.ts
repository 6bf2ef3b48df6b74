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
export const LONGEST_TIMER: number = 2 ** 31 - 1

export const systemClock: Clock = {
  now: Date.now,
  async wait(milliseconds, signal) {
    const due = Date.now() + milliseconds
    for (let remaining = milliseconds; remaining > 0; remaining = due - Date.now()) {
      await sleep(Math.min(remaining, LONGEST_TIMER), signal)
    }
    signal?.throwIfAborted()
  },
}

function sleep(milliseconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason)
    const abort = (): void => {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', abort)
      resolve()
    }, milliseconds)
    signal?.addEventListener('abort', abort, { once: true })
  })
}

/** A clock whose time changes only when a test advances it. */
export interface ManualClock extends Clock {
  /**
   * Advances the time from one waiting task to the next, and pauses while an attempt is in flight: an hour of windows
   * and retries takes only as long as the receiver needs to respond. The times of concurrent calls add up.
   *
   * @param milliseconds a whole number, 0 or more
   * @throws {WebhookError} `config_invalid` for any other value
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
  const waiting = new Set<{ due: number; resolve: () => void }>()
  const inFlight = new Set<Promise<unknown>>()
  let lastAdvance: Promise<void> = Promise.resolve()

  /** Waits until nothing is in flight and callbacks of ended attempts have run. */
  async function settle(): Promise<void> {
    do {
      await Promise.all(inFlight)
      await new Promise((resolve) => setImmediate(resolve))
    } while (inFlight.size > 0)
  }

  async function advanceTo(target: number): Promise<void> {
    for (;;) {
      await settle()
      const [next] = [...waiting].sort((a, b) => a.due - b.due)
      if (!next || next.due > target) break
      now = next.due
      waiting.delete(next)
      next.resolve()
    }
    now = target
  }

  return {
    now: () => now,
    wait(milliseconds, signal) {
      return new Promise((resolve, reject) => {
        if (signal?.aborted) return reject(signal.reason)
        if (milliseconds <= 0) return resolve()
        const abort = (): void => {
          waiting.delete(waiter)
          reject(signal?.reason)
        }
        const waiter = {
          due: now + milliseconds,
          resolve: () => {
            signal?.removeEventListener('abort', abort)
            resolve()
          },
        }
        waiting.add(waiter)
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
      lastAdvance = lastAdvance.then(() => advanceTo(now + milliseconds))
      await lastAdvance
    },
  }
}

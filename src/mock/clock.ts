import { configInvalid } from '../errors.ts'

/** The time of a mock service: schedule windows, gaps between attempts, tokens and time stamps follow it. */
export interface Clock {
  /** Milliseconds since 1970. */
  now(): number
  /** Resolves after so many milliseconds; rejects with the signal's reason where it is aborted first. */
  wait(milliseconds: number, signal?: AbortSignal): Promise<void>
  /** Told of every attempt that is on the wire, so that a clock that is set by hand can stand still meanwhile. */
  during?(work: Promise<unknown>): void
}

/** Of a Date (ECMA-262, section 21.4.1.1). */
const LAST_TIME = 8.64e15
/** Longer waits overflow Node's timers. */
const LONGEST_TIMER = 2 ** 31 - 1

/** The machine's clock. */
export const systemClock: Clock = {
  now: Date.now,
  async wait(milliseconds, signal) {
    const due = Date.now() + milliseconds
    for (let left = milliseconds; left > 0; left = due - Date.now()) {
      await sleep(Math.min(left, LONGEST_TIMER), signal)
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

/** A clock that stands still until it is told to go on. */
export interface ManualClock extends Clock {
  /**
   * Moves on by so many milliseconds, from one waiting task to the next, and stands still while an attempt is on the
   * wire. So an hour of windows and retries passes as fast as the receiver answers. Calls at the same time add up.
   *
   * @param milliseconds a whole number from 0
   * @throws {WebhookError} `config_invalid`
   */
  advance(milliseconds: number): Promise<void>
}

/**
 * Makes a clock for tests.
 *
 * @param start milliseconds since 1970; default: now
 * @throws {WebhookError} `config_invalid` for a time that is none
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
  const busy = new Set<Promise<unknown>>()
  /** The end of the last move. */
  let moved: Promise<void> = Promise.resolve()

  /** Until nothing is on the wire, and what was set off by that has run. */
  async function settle(): Promise<void> {
    do {
      await Promise.all(busy)
      await new Promise((resolve) => setImmediate(resolve))
    } while (busy.size > 0)
  }

  async function move(target: number): Promise<void> {
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
        () => busy.delete(settled),
        () => busy.delete(settled),
      )
      busy.add(settled)
    },
    async advance(milliseconds) {
      if (!Number.isInteger(milliseconds) || milliseconds < 0)
        throw configInvalid('milliseconds must be a whole number from 0')
      moved = moved.then(() => move(now + milliseconds))
      await moved
    },
  }
}

/** The time of a mock service: schedule windows, gaps between attempts, tokens and time stamps follow it. */
export interface Clock {
  /** Milliseconds since 1970. */
  now(): number
  /** Resolves after so many milliseconds; rejects with the signal's reason where it is aborted first. */
  wait(milliseconds: number, signal?: AbortSignal): Promise<void>
  /** Told of every attempt that is on the wire, so that a clock that is set by hand can stand still meanwhile. */
  during?(work: Promise<unknown>): void
}

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
   * wire. So an hour of windows and retries passes as fast as the receiver answers.
   */
  advance(milliseconds: number): Promise<void>
}

/**
 * Makes a clock for tests.
 *
 * @param start milliseconds since 1970; default: now
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
  let now = start
  const waiting = new Set<{ due: number; resolve: () => void }>()
  const busy = new Set<Promise<unknown>>()

  /** Until nothing is on the wire, and what was set off by that has run. */
  async function settle(): Promise<void> {
    do {
      await Promise.all(busy)
      await new Promise((resolve) => setImmediate(resolve))
    } while (busy.size > 0)
  }

  return {
    now: () => now,
    wait(milliseconds, signal) {
      return new Promise((resolve, reject) => {
        if (signal?.aborted) return reject(signal.reason)
        const abort = (): void => {
          waiting.delete(waiter)
          reject(signal?.reason)
        }
        const waiter = {
          due: now + Math.max(0, milliseconds),
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
      const target = now + milliseconds
      for (;;) {
        await settle()
        const [next] = [...waiting].sort((a, b) => a.due - b.due)
        if (!next || next.due > target) break
        now = next.due
        waiting.delete(next)
        next.resolve()
      }
      now = target
    },
  }
}

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

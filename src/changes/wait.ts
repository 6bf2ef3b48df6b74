/** Rejects with the signal's reason as soon as it is aborted. */
export function abortable<Value>(promise: Promise<Value>, signal: AbortSignal): Promise<Value> {
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(signal.reason)
    if (signal.aborted) abort()
    signal.addEventListener('abort', abort, { once: true })
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort))
  })
}

/** Waits. @throws the signal's reason when it is aborted */
export function wait(milliseconds: number, signal: AbortSignal): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const elapsed = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, milliseconds)
  })
  return abortable(elapsed, signal).finally(() => clearTimeout(timer))
}

/** Range of the time between two requests, in milliseconds. */
export interface Interval {
  min: number
  max: number
}

/** Longer timers fire at once. */
const LONGEST_TIMER = 2 ** 31 - 1

/** The time before a repetition: it grows from `min` to `max`, and varies so that clients do not retry at the same moment. */
export const backoff = ({ min, max }: Interval, repetition: number): number =>
  Math.min(LONGEST_TIMER, Math.min(max, min * 1.5 ** repetition) * (0.75 + Math.random() / 2))

import type { Receiver } from '../receiver/api.ts'
import type { StoredDelivery } from '../receiver/delivery.ts'

/** Characters that are kept of an error. */
const LENGTH = 2_000

/** What an attempt needs to know. */
export interface AttemptOptions {
  /** From 1. */
  attempt: number
  /** Milliseconds. */
  timeout: number
  /** Ends the attempt before its time, as failed: where the delivery is no longer this process's. */
  stop?: AbortSignal | undefined
}

/**
 * Runs the handlers of a delivery once. After the time-out it rejects at once, whether or not the handlers heed their
 * signal: one that hangs must not keep its place for ever.
 */
export async function runAttempt(
  receiver: Pick<Receiver, 'handle'>,
  delivery: StoredDelivery,
  { attempt, timeout, stop }: AttemptOptions,
): Promise<void> {
  const controller = new AbortController()
  const { signal } = controller
  const onStop = () => controller.abort(stop?.reason)
  const timer = setTimeout(() => {
    controller.abort(new DOMException(`the handlers took more than ${timeout} ms`, 'TimeoutError'))
  }, timeout)
  const aborted = new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  })
  if (stop?.aborted) onStop()
  stop?.addEventListener('abort', onStop, { once: true })
  try {
    await Promise.race([aborted, receiver.handle(delivery, { signal, attempt })])
  } finally {
    clearTimeout(timer)
    stop?.removeEventListener('abort', onStop)
  }
}

/**
 * An error as text that can be kept: the names and messages, also of those that an AggregateError holds. Not every
 * value can be made a text, and not every store takes a NUL or half of a pair.
 */
export function toErrorText(error: unknown): string {
  try {
    const errors: unknown[] = error instanceof AggregateError ? error.errors : [error]
    return errors
      .slice(0, 10)
      .map((one) => String(one).slice(0, LENGTH))
      .join('; ')
      .slice(0, LENGTH)
      .replaceAll('\0', ' ')
      .replace(/\p{Surrogate}/gu, '\ufffd')
  } catch {
    return 'an unprintable error'
  }
}

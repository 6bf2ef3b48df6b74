import type { StoredDelivery } from '../receiver/delivery.ts'
import type { HandleResult } from '../receiver/dispatch.ts'
import type { DeliveryHandler } from './durable-inbox.ts'

/** Options of {@link runAttempt}. */
export interface AttemptOptions {
  /** Number of the attempt, from 1. */
  attempt: number
  /** Maximum duration of the attempt in milliseconds. */
  timeout: number
  /** Aborts the attempt, for example because another process has taken the delivery. */
  stop?: AbortSignal | undefined
}

/**
 * Runs the handlers of a delivery once. Rejects after `timeout`, even if a handler ignores its abort signal: a handler
 * that hangs must not occupy a worker forever.
 */
export async function runAttempt(
  receiver: DeliveryHandler,
  delivery: StoredDelivery,
  { attempt, timeout, stop }: AttemptOptions,
): Promise<HandleResult> {
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
    const result = await Promise.race([aborted, receiver.handle(delivery, { signal, attempt })])
    return result === 'unhandled' ? result : 'handled'
  } finally {
    clearTimeout(timer)
    stop?.removeEventListener('abort', onStop)
  }
}

import { type ENTER, type EnterAttempt, type GroupContext, receiverPort } from '../receiver/port.ts'
import type { HandleResult, StoredDelivery } from '../receiver/types.ts'
import type { DeliveryHandler } from './durable-inbox.ts'

/** The context of the handlers. */
interface Context extends GroupContext {
  tokens: readonly number[]
  [ENTER]: EnterAttempt
}

interface AttemptOptions {
  /** Maximum duration of the attempt in milliseconds. */
  timeout: number
  /** Aborts the attempt, for example because another process has taken the delivery. */
  stop: AbortSignal
  /** True to call `handleTogether`. Otherwise there must be only one delivery. */
  isTogether: boolean
}

/**
 * Runs the handlers once for one or several deliveries. Rejects after `timeout`, even if a handler ignores its abort
 * signal: a handler that hangs must not occupy a worker forever.
 *
 * @returns one result per delivery
 */
export async function runAttempt(
  receiver: DeliveryHandler,
  deliveries: readonly StoredDelivery[],
  context: Omit<Context, 'signal'>,
  { timeout, stop, isTogether }: AttemptOptions,
): Promise<HandleResult[]> {
  const controller = new AbortController()
  const { signal } = controller
  const onStop = () => controller.abort(stop.reason)
  const timer = setTimeout(() => {
    controller.abort(new DOMException(`the handlers took more than ${timeout} ms`, 'TimeoutError'))
  }, timeout)
  const aborted = new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  })
  stop.addEventListener('abort', onStop, { once: true })
  try {
    const handling = handle(receiver, deliveries, { ...context, signal }, isTogether)
    const results = await Promise.race([aborted, handling])
    return deliveries.map((_, index) => (results[index] === 'unhandled' ? 'unhandled' : 'handled'))
  } finally {
    clearTimeout(timer)
    stop.removeEventListener('abort', onStop)
  }
}

async function handle(
  receiver: DeliveryHandler,
  deliveries: readonly StoredDelivery[],
  context: Context,
  isTogether: boolean,
): Promise<readonly unknown[]> {
  const port = isTogether && receiverPort(receiver)
  if (port) return port.handleTogether(deliveries, context)
  const { tokens, ...rest } = context
  return Promise.all(
    deliveries.map((delivery, index) => receiver.handle(delivery, { ...rest, token: tokens[index] })),
  )
}

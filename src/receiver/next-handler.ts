import { WebhookError } from '../errors.ts'
import type { Delivery } from './delivery.ts'
import { guard } from './guard.ts'
import { type Outcome, respondedOutcome } from './outcome.ts'

/** What the framework's next handler did with a delivery. */
export interface NextResult {
  /** The status of its response; undefined if the framework will use its default success status. */
  status?: number | undefined
  /** The error that the handler threw. Set only if it makes the delivery a failure, whatever the status is. */
  thrown?: unknown
}

/** Returns true for the statuses that make a delivery a failure (RFC 9110 section 15.6). */
export const isServerError = (status: number): boolean => status >= 500

/**
 * Passes a delivery to the framework's next handler, and returns the outcome with the status of that handler's response.
 *
 * @throws {WebhookError} `handler_failed` with the status of the response, if there was one
 */
export async function runNext(
  next: (delivery: Delivery) => Promise<NextResult>,
  delivery: Delivery,
): Promise<Outcome> {
  const { status, thrown } = await guard('handler_failed', () => next(delivery))
  if (thrown === undefined && !isServerError(status ?? 200)) return respondedOutcome(status ?? 200)
  const cause = thrown ?? new Error(`the next handler responded with status ${status}`)
  const error = new WebhookError('handler_failed', { cause })
  throw status === undefined ? error : Object.assign(error, { status })
}

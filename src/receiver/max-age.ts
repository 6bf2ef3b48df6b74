import { WebhookError } from '../errors.ts'
import type { Delivery } from './delivery.ts'

/**
 * Rejects a delivery whose newest event is more than `maxAge` milliseconds in the past or in the future. The event time
 * is part of the signed body, so an attacker who replays a captured delivery cannot change it.
 *
 * @param acceptUntimed whether to accept payloads without an event time
 * @throws {WebhookError} `delivery_stale`
 */
export function requireFresh(
  { events }: Delivery,
  { maxAge, acceptUntimed, clock }: { maxAge: number | undefined; acceptUntimed: boolean; clock(): number },
): void {
  if (maxAge === undefined) return
  const newest = events.reduce((time, { when }) => Math.max(time, when?.getTime() ?? time), -Infinity)
  if (acceptUntimed && newest === -Infinity) return
  if (!(Math.abs(clock() - newest) <= maxAge)) throw new WebhookError('delivery_stale')
}

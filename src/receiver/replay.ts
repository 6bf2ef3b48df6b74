import { WebhookError } from '../errors.ts'
import type { Delivery } from './delivery.ts'
import { guard } from './guard.ts'
import { done, type Outcome } from './outcome.ts'

/**
 * Where it is remembered which deliveries are at work and which are done. A delivery counts as done only after its
 * handlers have succeeded: until then a retry must be let through.
 */
export interface DuplicateStore {
  /** Takes the delivery for this attempt: `claimed`, or `busy` with another attempt, or `done` already. Atomic. */
  claim(id: string): Promise<'claimed' | 'busy' | 'done'>
  done(id: string): Promise<void>
  release(id: string): Promise<void>
}

/**
 * Refuses a delivery whose newest event lies more than `maxAge` milliseconds from now, on either side. The time is
 * part of the signed body, so a stranger who replays a captured delivery cannot change it.
 *
 * @param acceptUntimed lets payloads without a time through
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

/**
 * Runs the work of a delivery unless it is done already.
 *
 * @throws {WebhookError} `delivery_in_progress`, `inbox_unavailable` where the store cannot be asked, and whatever the work throws
 */
export async function once(
  store: DuplicateStore,
  id: string,
  work: () => Promise<Outcome>,
): Promise<Outcome> {
  const claim = await guard('inbox_unavailable', () => store.claim(id))
  if (claim === 'busy') throw new WebhookError('delivery_in_progress')
  if (claim === 'done') return done('duplicate')
  if (claim !== 'claimed') throw new WebhookError('inbox_unavailable', { cause: claim })
  let outcome: Outcome
  try {
    outcome = await work()
  } catch (error) {
    // The claim of a store that is gone lapses by itself; what the sender must hear is the error of the work.
    await guard('inbox_unavailable', () => store.release(id)).catch(() => {})
    throw error
  }
  // The work is done, whether or not that can be written down: an error here would have the sender repeat it.
  await guard('inbox_unavailable', () => store.done(id)).catch(() => {})
  return outcome
}

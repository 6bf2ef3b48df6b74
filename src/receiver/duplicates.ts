import { WebhookError } from '../errors.ts'
import { guard } from './guard.ts'
import { type Outcome, succeeded } from './outcome.ts'

/**
 * Remembers which deliveries are in progress and which are done. A delivery is done only after its handlers have
 * succeeded, so that a retry after a failure is handled.
 */
export interface DuplicateStore {
  /**
   * Claims the delivery for this attempt. Resolves with `'busy'` if another attempt is in progress, or with `'done'` if
   * the delivery has already been handled. Must be atomic.
   */
  claim(id: string): Promise<'claimed' | 'busy' | 'done'>
  /** Records that the delivery has been handled. */
  done(id: string): Promise<void>
  /** Removes the claim after a failure, so that the sender's next attempt is handled. */
  release(id: string): Promise<void>
}

/**
 * Handles a delivery unless it has already been handled.
 *
 * @throws {WebhookError} `delivery_in_progress`; `inbox_unavailable` if the store fails before `handle` is called
 */
export async function handleOnce(
  store: DuplicateStore,
  id: string,
  handle: () => Promise<Outcome>,
): Promise<Outcome> {
  const claim = await guard('inbox_unavailable', () => store.claim(id))
  if (claim === 'busy') throw new WebhookError('delivery_in_progress')
  if (claim === 'done') return succeeded('duplicate')
  if (claim !== 'claimed') throw new WebhookError('inbox_unavailable', { cause: claim })
  let outcome: Outcome
  try {
    outcome = await handle()
  } catch (error) {
    // If the release fails too, the claim expires. The handler's error matters more than the store's.
    await guard('inbox_unavailable', () => store.release(id)).catch(() => {})
    throw error
  }
  if (outcome.kind === 'unhandled') {
    // Nothing was done, so a sender may send the delivery again once there is a handler.
    await guard('inbox_unavailable', () => store.release(id)).catch(() => {})
    return outcome
  }
  // Ignore store errors: the delivery has been handled, and an error response would make the sender repeat it.
  await guard('inbox_unavailable', () => store.done(id)).catch(() => {})
  return outcome
}

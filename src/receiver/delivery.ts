import { configInvalid, guard, WebhookError } from '../errors.ts'
import { isTenant } from '../signature/keyring.ts'
import { succeeded } from './outcome.ts'
import type { DuplicateStore, Outcome, StoredDelivery } from './types.ts'

/**
 * The profile of deliveries that no service sent: `geohook/changes` creates them for changes that no delivery announced.
 */
export const CAUGHT_UP = 'caught_up'

/**
 * Checks the delivery that a caller of `handle()` has stored.
 *
 * @throws {WebhookError} `config_invalid`
 */
export function requireStored(stored: Partial<StoredDelivery> | null | undefined): void {
  if (typeof stored !== 'object' || stored === null)
    throw configInvalid('handle(stored): stored must be a delivery with rawBody and contentType')
  // `instanceof Uint8Array` would be false for bytes from another realm, such as a test runner's vm context.
  if ({}.toString.call(stored.rawBody) !== '[object Uint8Array]')
    throw configInvalid(
      'handle(stored): stored.rawBody must be a Uint8Array with the bytes of the body',
      'Text or JSON cannot replace the bytes: store delivery.rawBody itself, for example in base64.',
    )
  if ((stored.tenant ?? undefined) !== undefined && !isTenant(stored.tenant))
    throw configInvalid('handle(stored): stored.tenant is not a valid tenant name')
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
  const quietly = (call: () => unknown) => guard('inbox_unavailable', call).catch(() => {})
  let outcome: Outcome
  try {
    outcome = await handle()
  } catch (error) {
    // If the release fails too, the claim expires. The handler's error matters more than the store's.
    await quietly(() => store.release(id))
    throw error
  }
  if (outcome.kind === 'unhandled') {
    // Nothing was done, so a sender may send the delivery again once there is a handler.
    await quietly(() => store.release(id))
    return outcome
  }
  // Ignore store errors: the delivery has been handled, and an error response would make the sender repeat it.
  await quietly(() => store.done(id))
  return outcome
}

import { configInvalid } from '../errors.ts'
import type { Parsed } from '../payload/event.ts'
import { isTenant } from '../signature/keyring.ts'
import type { HeaderBag } from './headers.ts'

/**
 * The profile of deliveries that no service sent: `geohook/changes` creates them for changes that no delivery announced.
 */
export const CAUGHT_UP = 'caught_up'

/**
 * The part of a verified delivery that inboxes store. The other members of a delivery can be decoded from this part.
 */
export interface StoredDelivery {
  /**
   * 32 hex digits. Every request with the same bytes, key and tenant has the same id, in every process. The id does not
   * disclose the signature or the key.
   */
  id: string
  /** The exact bytes of the body. */
  rawBody: Uint8Array
  contentType: string
  /**
   * All headers of the request, including the signature. Only the value of the header `secret`, in which organizations
   * send their key, and of the profile's `secretHeader` is replaced by `***`.
   */
  headers: HeaderBag
  receivedAt: Date
  /** Name of the receiver's profile, or `caught_up`. With `portal`, or another profile with `secretHeader`, the body is not signed. */
  profile: string
  /** The index of the key that matched the signature or, for such a profile, the header; 0 is the newest key. Absent if the delivery was unsigned. */
  keyIndex?: number
  /**
   * The tenant that the key function returned. The request was verified with one of its keys, unless it was unsigned. Do
   * not identify the tenant by the payload: a tenant can sign a payload about the service of another one.
   */
  tenant?: string
}

/** A verified delivery: the stored part plus the decoded payload and its events. */
export interface Delivery<Payload = unknown> extends Parsed<Payload>, StoredDelivery {}

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
 * Checks the deliveries that a caller of `handleTogether()` has stored.
 *
 * @throws {WebhookError} `config_invalid`
 */
export function requireStoredList(stored: readonly Partial<StoredDelivery>[]): void {
  if (!Array.isArray(stored) || stored.length === 0)
    throw configInvalid('handleTogether(stored): stored must be an array with at least one delivery')
  for (const one of stored) requireStored(one)
}

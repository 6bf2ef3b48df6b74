import type { Parsed } from '../payload/event.ts'
import type { HeaderBag } from './headers.ts'

/**
 * The part of a verified delivery that inboxes store. The other members of a delivery can be decoded from this part.
 */
export interface StoredDelivery {
  /**
   * 32 hex digits. Every request with the same bytes and key has the same id, in every process. The id does not
   * disclose the signature.
   */
  id: string
  /** The exact bytes of the body. */
  rawBody: Uint8Array
  contentType: string
  /** All headers of the request, including the signature. */
  headers: HeaderBag
  receivedAt: Date
  /** Name of the receiver's profile. */
  profile: string
  /** The index of the key that matched; 0 is the newest key. Absent if the delivery was unsigned. */
  keyIndex?: number
}

/** A verified delivery: the stored part plus the decoded payload and its events. */
export interface Delivery<Payload = unknown> extends Parsed<Payload>, StoredDelivery {}

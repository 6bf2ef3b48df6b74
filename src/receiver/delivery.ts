import type { Parsed } from '../payload/event.ts'
import type { HeaderBag } from './headers.ts'

/** The part of a verified delivery that inboxes store: the rest can be decoded from it again. */
export interface StoredDelivery {
  /** 32 hex digits; the same for every attempt with the same bytes and key, in every process. It does not disclose the signature. */
  id: string
  /** The exact bytes of the body. */
  rawBody: Uint8Array
  contentType: string
  /** All headers of the request, including the signature. */
  headers: HeaderBag
  receivedAt: Date
  /** The name of the profile that was in use. */
  profile: string
  /** The index of the key that matched, 0 for the newest; absent if an unsigned delivery was accepted. */
  keyIndex?: number
}

/** One verified payload. */
export interface Delivery<Payload = unknown> extends Parsed<Payload>, StoredDelivery {}

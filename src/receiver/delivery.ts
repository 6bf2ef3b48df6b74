import type { Parsed } from '../payload/event.ts'
import type { HeaderBag } from './headers.ts'

/** What is kept of a verified delivery: all that it can be verified and decoded from again. */
export interface StoredDelivery {
  /** The same for every attempt with the same bytes and key, in every process: 32 hex digits. It does not disclose the signature. */
  id: string
  /** The exact bytes that were received. */
  rawBody: Uint8Array
  contentType: string
  /** All headers of the request, the signature among them. */
  headers: HeaderBag
  receivedAt: Date
  /** The name of the profile that was in use. */
  profile: string
  /** Which key of the ring matched, 0 being the newest; absent where an unsigned delivery was accepted. */
  keyIndex?: number
}

/** One verified payload. */
export interface Delivery<Payload = unknown> extends Parsed<Payload>, StoredDelivery {}

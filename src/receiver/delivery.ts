import type { Parsed } from '../payload/event.ts'
import type { HeaderBag } from './headers.ts'

/** One verified payload. */
export interface Delivery<Payload = unknown> extends Parsed<Payload> {
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

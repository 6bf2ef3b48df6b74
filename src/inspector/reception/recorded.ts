import type { ErrorCode } from '../../errors.ts'
import type { Diagnosis } from '../../explain/types.ts'
import type { HeaderBag, Outcome, RequestHead } from '../../receiver/types.ts'
import type { Redactor } from '../../shared/redact.ts'
import type { HttpResponse } from '../send-request.ts'
import type { AttemptEntry, HeaderPairs } from '../source.ts'

/** A recorded request. Its headers are not redacted, so pages must use the result of `toItem`. */
export interface Recorded {
  readonly id: string
  /** When the request arrived. */
  readonly time: Date
  /** Time at which the receiver decided, in milliseconds since 1970. */
  readonly decidedAt: number
  readonly request: Omit<RequestHead, 'headers'> & { headers: HeaderBag | HeaderPairs }
  /** Undefined if the body was not read, or was too large to be recorded. */
  readonly body: Uint8Array | undefined
  /** Bytes of the recorded body, the URL and the headers. */
  readonly bytes: number
  /** Size of the body in bytes, also if it is not recorded. Undefined if it was not read. */
  readonly size: number | undefined
  /** Size according to the sender; 0 if unknown. */
  readonly declaredSize: number
  readonly kind: Outcome['kind']
  /** The response of the receiver. */
  readonly answer: Pick<Outcome, 'status' | 'headers' | 'body'>
  readonly milliseconds: number
  readonly code: ErrorCode | undefined
  /** What the handler, the inbox or the key function threw, without keys. */
  readonly error: string | undefined
  /** Undefined if the request was refused, or is a handshake. */
  readonly delivery: RecordedDelivery | undefined
  /** What the sender got instead of the receiver's response. */
  readonly sent: Sent | undefined
  /** Set when a page has asked for it. */
  diagnosis?: Promise<Diagnosis | undefined>
}

/** The part of a delivery that the page shows. The payload itself would take more memory than the body. */
export interface RecordedDelivery {
  id: string
  keyIndex: number | undefined
  profile: string
  tenant: string | undefined
  changeTypes: readonly string[]
  service: string | undefined
  webhook: string | undefined
}

/** What `geohook listen` knows about the response. */
export interface Sent {
  status: number
  forwarded: { status: number; answer: AttemptEntry['answer'] } | { error: string } | undefined
  disconnected: boolean
}

/** Characters of a response. */
const MAX_ANSWER = 16 * 1024
/** Bytes that certainly contain these characters, and a key that begins among them. */
const MAX_DECODED = 4 * MAX_ANSWER

/** The response of a target without keys, with only the first part of its body. */
export const toAnswer = (
  { headers, body }: HttpResponse,
  { text, headers: hideIn }: Redactor,
): AttemptEntry['answer'] => ({
  headers: hideIn(headers),
  body: text(body.subarray(0, MAX_DECODED).toString(), MAX_ANSWER),
})

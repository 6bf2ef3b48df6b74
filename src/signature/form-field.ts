import { toBinary } from './bytes.ts'

/** A form body that contains its own signature. */
export interface SignedForm {
  /** The bytes that the signature covers. */
  signed: Uint8Array
  /** The value of the signature field, still percent-encoded. */
  signature: string
}

const PAYLOAD = 'payload='
const AMPERSAND = 0x26

/**
 * Maximum number of bytes read as the value of the signature field. A valid signature has at most about 200 bytes, even
 * if it is percent-encoded.
 */
const MAX_SIGNATURE = 512

/**
 * Splits the body `payload=<bytes>&<field>=<signature>` (docs/senders.md, "Signature") at the last `&`: the JSON before
 * that `&` may itself contain unencoded `&` and `=`. The signature covers the raw bytes between `payload=` and the last
 * `&`.
 *
 * @param field name of the signature field, case-insensitive
 * @returns undefined if the body does not have this structure
 */
export function splitSignedForm(body: Uint8Array, field: string): SignedForm | undefined {
  if (toBinary(body.subarray(0, PAYLOAD.length)) !== PAYLOAD) return undefined
  const end = body.lastIndexOf(AMPERSAND)
  const tail = toBinary(body.subarray(end + 1, end + 1 + field.length + MAX_SIGNATURE))
  const name = tail.slice(0, field.length + 1).toLowerCase()
  if (end < PAYLOAD.length || name !== `${field.toLowerCase()}=`) return undefined
  return { signed: body.subarray(PAYLOAD.length, end), signature: tail.slice(name.length) }
}

import { toBinary } from './bytes.ts'

/** A form body that carries its own signature: the signed bytes, and the signature as it was written. */
export interface SignedForm {
  signed: Uint8Array
  signature: string
}

const PAYLOAD = 'payload='
const AMPERSAND = 0x26

/**
 * Takes `payload=<bytes>&<field>=<signature>` apart (field facts, "Signature"). The signature covers the bytes
 * between `payload=` and the last `&` as they were received, not decoded. The JSON inside may be sent without
 * percent-encoding and hold `&` and `=` of its own, so the split is anchored at the field's name at the body's end.
 *
 * @param field the name of the signature field; upper and lower case are one
 * @returns undefined where the body is not of this form
 */
export function splitSignedForm(body: Uint8Array, field: string): SignedForm | undefined {
  if (toBinary(body.subarray(0, PAYLOAD.length)) !== PAYLOAD) return undefined
  const end = body.lastIndexOf(AMPERSAND)
  // A signature is about 200 characters at most, percent-encoded; a longer tail is read as far as refusing it takes.
  const tail = toBinary(body.subarray(end + 1, end + 1 + field.length + 512))
  const name = tail.slice(0, field.length + 1).toLowerCase()
  if (end < PAYLOAD.length || name !== `${field.toLowerCase()}=`) return undefined
  return { signed: body.subarray(PAYLOAD.length, end), signature: tail.slice(name.length) }
}

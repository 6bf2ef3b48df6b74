import { toHex } from '../shared/bytes.ts'
import { decodeSignature, type SignatureEncoding } from '../signature/signature.ts'
import type { Proof } from './answers.ts'
import { hmacSha256 } from './digests.ts'
import type { Answer } from './receiver.ts'
import type { ReceivedRequest } from './request.ts'
import type { Finding } from './types.ts'

/** @param isUnsigned whether the receiver accepts this request without a signature */
export const signatureProof = (
  request: ReceivedRequest,
  encoding: SignatureEncoding,
  isUnsigned: boolean,
): Proof => ({
  keys: request.keys,
  accept: (answer) => explainAccepted(answer, request, isUnsigned),
  describe: () => describeSignature(request, encoding),
})

async function explainAccepted(
  { isHandshake }: Answer,
  { keys, body, value }: ReceivedRequest,
  isUnsigned: boolean,
): Promise<Finding> {
  if (isHandshake) return { cause: 'ok', evidence: 'The request is a valid handshake.' }
  if (isUnsigned)
    return {
      cause: 'ok',
      evidence: 'The request has no signature, and this receiver accepts unsigned requests.',
    }
  const digest = toHex(decodeSignature(value) as Uint8Array)
  for (const [index, key] of keys.entries()) {
    if ((await hmacSha256(key, body)) !== digest) continue
    if (index === 0) break
    const evidence = `The signature was computed with key ${index} of the list, in which 0 is the newest.`
    return { cause: 'key_previous', evidence }
  }
  return { cause: 'ok', evidence: 'The signature was computed over this body with this key.' }
}

async function describeSignature(
  { keys, body, value }: ReceivedRequest,
  encoding: SignatureEncoding,
): Promise<string> {
  const digest = decodeSignature(value, encoding)
  if (typeof digest === 'string') return 'The request has no valid signature.'
  for (const key of keys)
    if ((await hmacSha256(key, body)) === toHex(digest)) return 'The signature is valid.'
  return 'The signature does not match this body with this key.'
}

import { toBase64, toHex } from '../shared/bytes.ts'
import { decodeSignature, type SignatureEncoding } from '../signature/signature.ts'
import type { Finding } from './types.ts'

/** A name before a signature, such as `sha256=` or `v1=`. */
export const LABEL: RegExp = /^(?:sha-?\d{1,3}|hmac(?:-?sha-?\d{1,3})?|sig(?:nature)?|v\d|s)[=: ]\s?/i

const ENCODED: Finding = {
  cause: 'signature_encoding',
  evidence:
    'The received value contains the signature in another encoding, or with other characters around it.',
}

/**
 * Returns why the receiver could not read a text that contains a digest, if the text were the value of the signature
 * header. Returns an empty list if it could, or if the digest is that of another algorithm in hex or base64.
 */
export function notationMistakes(text: string, digest: Uint8Array, encoding: SignatureEncoding): Finding[] {
  if (typeof decodeSignature(text, encoding) !== 'string') return []
  if (typeof decodeSignature(text) !== 'string') {
    const evidence = `The signature is not in ${encoding}, the only encoding that the receiver accepts.`
    return [{ cause: 'signature_encoding', evidence }]
  }
  return digest.length !== 32 && isPlainText(text, digest) ? [] : [ENCODED]
}

/** Maximum length of a digest in hex or base64 with a label, in characters. */
const MAX_PLAIN = 200

/** Returns true for a digest in hex or base64, also with a label such as `sha1=`. */
function isPlainText(text: string, digest: Uint8Array): boolean {
  if (text.length > MAX_PLAIN) return false
  const bare = text.replace(LABEL, '')
  const base64 = toBase64(digest)
  return bare.toLowerCase() === toHex(digest) || bare === base64 || bare === base64.replaceAll('=', '')
}

import { toBase64, toHex, utf8 } from '../bytes.ts'
import { percentDecode } from '../encoding.ts'
import type { Cause } from './causes.ts'
import type { Finding } from './explain-types.ts'
import type { ReceivedRequest } from './read-request.ts'
import { containsDigest, hmacSha256, isDigest } from './recompute.ts'

/** Finds a valid signature in a form that the receiver rejects: in another encoding, truncated, or repeated. */
export async function findUnusualValue(request: ReceivedRequest): Promise<Finding | undefined> {
  for (const key of request.keys) {
    const digest = await hmacSha256(key, request.body)
    const [cause, , evidence] = check(request, digest).find(([, matches]) => matches) ?? []
    if (cause && evidence) return { cause, evidence }
  }
  return undefined
}

type Check = [cause: Cause, matches: boolean, evidence: string]

function check({ value, decoded }: ReceivedRequest, digest: Uint8Array): Check[] {
  const decodedTwice = percentDecode(decoded)
  const values = value.split(',', 100).map((part) => percentDecode(part.trim()))
  return [
    [
      'signature_doubled',
      values.filter((part) => part !== '').length > 1 && values.some((part) => isDigest(part, digest)),
      'The header has several values, and one of them is the valid signature.',
    ],
    [
      'signature_percent_encoded',
      isDigest(decoded.replaceAll(' ', '+'), digest),
      'The signature is valid if each space in it is replaced by a plus sign.',
    ],
    [
      'signature_percent_encoded',
      isDigest(decodedTwice, digest) || isDigest(percentDecode(decodedTwice), digest),
      'The signature is valid if it is percent-decoded more than once.',
    ],
    [
      'signature_encoding',
      containsDigest(decoded, digest),
      'The received value contains the valid signature, but also other characters around it.',
    ],
    [
      'signature_encoding',
      otherEncodings(digest).some((text) => decoded.includes(text)),
      'The received value contains the valid signature, but neither in hex nor in standard base64.',
    ],
    [
      'signature_truncated',
      isTruncated(decoded, digest),
      'The received value is only a part of the valid signature.',
    ],
  ]
}

/**
 * Returns true if the value is a part of the digest, truncated before or after encoding. Requires at least 8 bytes,
 * because fewer could match by chance.
 */
function isTruncated(value: string, digest: Uint8Array): boolean {
  const withoutCutEscape = value.replace(/%.?$/, '')
  const text = withoutCutEscape.replace(/^sha256=/, '')
  if (text.length < 11) return false
  if (text.length >= 16 && toHex(digest).includes(text.toLowerCase())) return true
  if (toBase64(digest).includes(text)) return true
  for (let length = 8; length < digest.length; length++) {
    const base64 = toBase64(digest.subarray(0, length))
    if (text === base64 || text === base64.replaceAll('=', '')) return true
  }
  return false
}

function otherEncodings(digest: Uint8Array): string[] {
  const hex = toHex(digest)
  const base64 = toBase64(digest)
  const base64url = base64.replaceAll('+', '-').replaceAll('/', '_').replace('=', '')
  const pairs = hex.match(/../g) ?? []
  return [
    base64url,
    toBase64(utf8(hex)),
    toBase64(utf8(hex.toUpperCase())),
    toHex(utf8(base64)),
    toHex(utf8(hex)),
    // The result of `String(bytes)` in JavaScript.
    digest.join(','),
    ...[':', ' ', '-'].flatMap((separator) => [pairs.join(separator), pairs.join(separator).toUpperCase()]),
  ]
}

import { toBase64, toHex, utf8 } from '../bytes.ts'
import { percentDecode } from '../encoding.ts'
import type { Cause } from './causes.ts'
import type { Case } from './read-request.ts'
import { type Finding, holds, isWriting, mac } from './recompute.ts'

/** The right signature in its place, but written so that no receiver takes it. */
export async function explainSignature(given: Case): Promise<Finding | undefined> {
  for (const key of given.keys) {
    const digest = await mac(key, given.body)
    const [cause, , evidence] = checks(given, digest).find(([, matches]) => matches) ?? []
    if (cause && evidence) return { cause, evidence }
  }
  return undefined
}

type Check = [cause: Cause, matches: boolean, evidence: string]

function checks({ value, decoded }: Case, digest: Uint8Array): Check[] {
  const twice = percentDecode(decoded)
  const listed = value.split(',', 100).map((part) => percentDecode(part.trim()))
  return [
    [
      'signature_doubled',
      listed.filter((part) => part !== '').length > 1 && listed.some((part) => isWriting(part, digest)),
      'The header has several values, and one of them is right.',
    ],
    [
      'signature_percent_encoded',
      isWriting(decoded.replaceAll(' ', '+'), digest),
      'With + in place of white space the signature is right.',
    ],
    [
      'signature_percent_encoded',
      isWriting(twice, digest) || isWriting(percentDecode(twice), digest),
      'The signature is right when it is percent-decoded more than once.',
    ],
    [
      'signature_encoding',
      holds(decoded, digest),
      'The right signature is there, but with something else around it.',
    ],
    [
      'signature_encoding',
      otherWritings(digest).some((text) => decoded.includes(text)),
      'The right signature is there, but neither in hex nor in standard base64.',
    ],
    ['signature_truncated', isCut(decoded, digest), 'What is there is only a part of the right signature.'],
  ]
}

/** Cut as text, or as bytes before it was encoded. Less than 8 bytes could be chance. */
function isCut(value: string, digest: Uint8Array): boolean {
  // A cut may go through a %XX.
  const text = value.replace(/%.?$/, '').replace(/^sha256=/, '')
  if (text.length < 11) return false
  if (text.length >= 16 && toHex(digest).includes(text.toLowerCase())) return true
  if (toBase64(digest).includes(text)) return true
  for (let length = 8; length < digest.length; length++) {
    const base64 = toBase64(digest.subarray(0, length))
    if (text === base64 || text === base64.replaceAll('=', '')) return true
  }
  return false
}

function otherWritings(digest: Uint8Array): string[] {
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
    // JavaScript's way to write an array of bytes.
    digest.join(','),
    ...[':', ' ', '-'].flatMap((separator) => [pairs.join(separator), pairs.join(separator).toUpperCase()]),
  ]
}

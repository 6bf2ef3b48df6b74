import { toBase64, toHex, utf8 } from '../bytes.ts'
import { percentDecode } from '../encoding.ts'
import type { Cause } from './causes.ts'
import { type Case, type Finding, isWriting, mac } from './hypothesis.ts'

/** The right signature in the header, but written so that no receiver takes it. */
export async function explainSignature({ value, keys, body }: Case): Promise<Finding | undefined> {
  for (const key of keys) {
    const digest = await mac(key, body)
    const [cause, , evidence] = checks(value, digest).find(([, holds]) => holds) ?? []
    if (cause && evidence) return { cause, evidence }
  }
  return undefined
}

type Check = [cause: Cause, holds: boolean, evidence: string]

function checks(value: string, digest: Uint8Array): Check[] {
  const twice = percentDecode(percentDecode(value))
  const parts = value.split(/[,\s]+/)
  const stripped = value.replace(/^["']|["']$/g, '').replace(/^(0x|[\w-]+[=:,] ?)/, '')
  return [
    [
      'signature_doubled',
      parts.length > 1 && parts.some((part) => isWriting(part, digest)),
      'One of the values in the header is right.',
    ],
    [
      'signature_percent_encoded',
      isWriting(value.replaceAll(' ', '+'), digest),
      'With + in place of white space the header is right.',
    ],
    [
      'signature_percent_encoded',
      isWriting(twice, digest) || isWriting(percentDecode(twice), digest),
      'The header is right when it is percent-decoded more than once.',
    ],
    [
      'signature_truncated',
      isCut(value.replace(/^sha256=/, ''), digest),
      'The header is the beginning of the right signature.',
    ],
    [
      'signature_encoding',
      isWriting(stripped, digest),
      'The header is right but for what is written around it.',
    ],
    [
      'signature_encoding',
      otherWritings(digest).includes(stripped),
      'The header is right, but neither hex nor standard base64.',
    ],
  ]
}

/** Cut as text, or as bytes before it was encoded. Fewer than 8 bytes could be chance. */
function isCut(text: string, digest: Uint8Array): boolean {
  if (
    text.length >= 16 &&
    (toHex(digest).startsWith(text.toLowerCase()) || toBase64(digest).startsWith(text))
  )
    return true
  for (let length = 8; length < digest.length; length++) {
    const base64 = toBase64(digest.subarray(0, length))
    if (text === base64 || text === base64.replace(/=+$/, '')) return true
  }
  return false
}

function otherWritings(digest: Uint8Array): string[] {
  const hex = toHex(digest)
  const base64 = toBase64(digest)
  const base64url = base64.replaceAll('+', '-').replaceAll('/', '_')
  const pairs = hex.match(/../g) ?? []
  return [
    base64url,
    base64url.replace('=', ''),
    toBase64(utf8(hex)),
    toBase64(utf8(hex.toUpperCase())),
    toHex(utf8(base64)),
    ...[':', ' ', '-'].flatMap((separator) => [pairs.join(separator), pairs.join(separator).toUpperCase()]),
  ]
}

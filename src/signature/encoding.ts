import { configInvalid } from '../errors.ts'
import { toBase64 } from './bytes.ts'

/** How a signature is written: `hex`, `base64` (RFC 4648 section 4), or `auto` for whichever of them it is. */
export type SignatureEncoding = 'auto' | 'hex' | 'base64'

const PREFIX = 'sha256='

/**
 * Decodes the value of a signature header to exactly 32 bytes. Every character is matched, where the platform's decoders
 * drop what they do not know (`Buffer.from('zz', 'hex')` is empty).
 * The lengths of the two encodings differ, so `auto` is never ambiguous.
 *
 * Some senders percent-encode the value. It is decoded once, and not as a form: `+` is a base64 character.
 *
 * @returns the 32 bytes, or the code that says why there are none
 */
export function decodeSignature(
  value: unknown,
  encoding: SignatureEncoding = 'auto',
): Uint8Array | 'signature_missing' | 'signature_malformed' {
  if (value === undefined || value === null || value === '') return 'signature_missing'
  if (typeof value !== 'string') return 'signature_malformed'
  // No signature is as long as that, even percent-encoded: decoding 64 KB takes up to 30 ms.
  const plain = value.includes('%') && value.length < 300 ? percentDecode(value) : value
  const text = plain.startsWith(PREFIX) ? plain.slice(PREFIX.length) : plain
  const bytes =
    (encoding !== 'base64' && decode(text, HEX, 4)) ||
    (encoding !== 'hex' && decode(text.endsWith('=') ? text.slice(0, -1) : text, BASE64, 6))
  return bytes || 'signature_malformed'
}

/** Writes the 32 bytes that a digest has in hex as the value of a signature header. */
export function encodeSignature(hex: string, encoding: 'hex' | 'base64', prefix: string): string {
  return prefix + (encoding === 'hex' ? hex : toBase64(decode(hex, HEX, 4) as Uint8Array))
}

/** @throws {WebhookError} `config_invalid` */
export function requireEncoding<E extends SignatureEncoding>(
  value: E,
  allowed: readonly SignatureEncoding[] = ['auto', 'hex', 'base64'],
): E {
  if (!allowed.includes(value)) throw configInvalid(`encoding must be ${allowed.join(' or ')}`)
  return value
}

/** Replaces each `%XX` by its byte as one character; what is not `%XX` stays, and fails the match that follows. */
export function percentDecode(text: string): string {
  return text.replace(/%([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
}

/** One more than what each character means, by its code; 0 for every other character. */
const HEX = Uint8Array.from({ length: 128 }, (_, code) => Number.parseInt(String.fromCharCode(code), 16) + 1)
const BASE64 = new Uint8Array(128)
for (let value = 0; value < 64; value++)
  BASE64[btoa(String.fromCharCode(value << 2)).charCodeAt(0)] = value + 1

/**
 * Matches and decodes 32 bytes in one go. A text of another length is not looked at: reading past its end would slow all
 * that follow. Bits that are left must be zero, or two texts would mean one signature.
 */
function decode(text: string, meanings: Uint8Array, width: 4 | 6): Uint8Array | undefined {
  if (text.length !== Math.ceil(256 / width)) return undefined
  const bytes = new Uint8Array(32)
  let isOther = 0
  let bits = 0
  let left = 0
  for (let i = 0; i < text.length; i++) {
    const meaning = (meanings[text.charCodeAt(i)] ?? 0) - 1
    isOther |= meaning
    bits = (bits << width) | meaning
    left = (left + width) & 7
    bytes[(i * width) >> 3] = bits >> left // a byte that is not whole yet is written again
  }
  return isOther < 0 || bits & ((1 << left) - 1) ? undefined : bytes
}

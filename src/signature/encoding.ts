import { configInvalid } from '../errors.ts'
import { fromBinary, toBase64, toHex } from './bytes.ts'

/** How a signature is written: `hex`, `base64` (RFC 4648 section 4), or `auto` for whichever of them it is. */
export type SignatureEncoding = 'auto' | 'hex' | 'base64'

// 32 bytes are 42 characters of 6 bits and one of 4: its two low bits must be zero, or two texts would mean one signature.
const BASE64 = /^[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=?$/
const PREFIX = 'sha256='

/**
 * Decodes the value of a signature header to exactly 32 bytes. The format is matched whole before anything is
 * decoded, because the platform's decoders drop what they do not know (`Buffer.from('zz', 'hex')` is empty).
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
  const plain = value.includes('%') ? percentDecode(value) : value
  const text = plain.startsWith(PREFIX) ? plain.slice(PREFIX.length) : plain
  const bytes = encoding === 'base64' ? undefined : fromHex(text)
  if (bytes) return bytes
  if (encoding !== 'hex' && BASE64.test(text)) return fromBinary(atob(text))
  return 'signature_malformed'
}

/** Writes 32 bytes as the value of a signature header. */
export function encodeSignature(bytes: Uint8Array, encoding: 'hex' | 'base64', prefix: string): string {
  return prefix + (encoding === 'hex' ? toHex(bytes) : toBase64(bytes))
}

/** @throws {WebhookError} `config_invalid` */
export function requireEncoding<E extends SignatureEncoding>(
  value: E,
  allowed: readonly SignatureEncoding[] = ['auto', 'hex', 'base64'],
): E {
  if (!allowed.includes(value)) throw configInvalid(`encoding must be one of ${allowed.join(', ')}`)
  return value
}

/** Replaces each `%XX` by its byte as one character; what is not `%XX` stays, and fails the match that follows. */
export function percentDecode(text: string): string {
  return text.replace(/%([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
}

/** One more than the value of each hex digit, by its character's code; 0 for every other character. */
const DIGITS = Uint8Array.from(
  { length: 128 },
  (_, code) => Number.parseInt(String.fromCharCode(code), 16) + 1,
)

/** Matches and decodes in one go. A text of another length is not looked at: reading past its end would slow all that follow. */
function fromHex(text: string): Uint8Array | undefined {
  if (text.length !== 64) return undefined
  const bytes = new Uint8Array(32)
  let isOther = 0
  for (let i = 0; i < 64; i++) {
    const digit = (DIGITS[text.charCodeAt(i)] ?? 0) - 1
    isOther |= digit & 16
    bytes[i >> 1] = ((bytes[i >> 1] as number) << 4) | digit
  }
  return isOther ? undefined : bytes
}

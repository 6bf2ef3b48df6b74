import { configInvalid } from '../errors.ts'
import { fromBinary, toBase64, toHex } from './bytes.ts'

/** How a signature is written: `hex`, `base64` (RFC 4648 section 4), or `auto` for whichever of them it is. */
export type SignatureEncoding = 'auto' | 'hex' | 'base64'

const HEX = /^[0-9a-f]{64}$/i
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
  if (encoding !== 'base64' && HEX.test(text)) return fromHex(text)
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

function fromHex(text: string): Uint8Array {
  const bytes = new Uint8Array(text.length / 2)
  for (let i = 0; i < bytes.length; i++) bytes[i] = toDigit(text, 2 * i) * 16 + toDigit(text, 2 * i + 1)
  return bytes
}

/** The value of a hex digit, which is known to be one: the low bits of a letter count from 1. */
function toDigit(text: string, index: number): number {
  const code = text.charCodeAt(index)
  return (code & 15) + (code >> 6) * 9
}

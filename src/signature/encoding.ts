import { configInvalid } from '../errors.ts'
import { toBase64 } from './bytes.ts'

/** The encoding of a signature: `hex`, `base64` (RFC 4648 section 4), or `auto` to accept both. */
export type SignatureEncoding = 'auto' | 'hex' | 'base64'

const PREFIX = 'sha256='

/**
 * Values with this many characters or more are not percent-decoded, because decoding 64 KB takes up to 30 ms.
 * Signatures are shorter.
 */
const MAX_PERCENT_ENCODED = 300

/**
 * Decodes the value of a signature header to exactly 32 bytes. With `auto`, the length distinguishes hex from
 * base64.
 *
 * Some senders percent-encode the value (docs/senders.md, "Signature"): it is percent-decoded once. `+` is not decoded
 * to a space, because it is a base64 character.
 *
 * @returns the 32 bytes, or an error code
 */
export function decodeSignature(
  value: unknown,
  encoding: SignatureEncoding = 'auto',
): Uint8Array | 'signature_missing' | 'signature_malformed' {
  if (value === undefined || value === null || value === '') return 'signature_missing'
  if (typeof value !== 'string') return 'signature_malformed'
  const plain = value.includes('%') && value.length < MAX_PERCENT_ENCODED ? percentDecode(value) : value
  const text = plain.startsWith(PREFIX) ? plain.slice(PREFIX.length) : plain
  const bytes =
    (encoding !== 'base64' && decode(text, HEX, 4)) ||
    (encoding !== 'hex' && decode(text.endsWith('=') ? text.slice(0, -1) : text, BASE64, 6))
  return bytes || 'signature_malformed'
}

/** Encodes a digest, given as 64 hex digits, as the value of a signature header. */
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

/** Replaces each `%XX` with the character whose code is XX. Invalid sequences are kept. */
export function percentDecode(text: string): string {
  return text.replace(/%([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
}

/** Maps the character code of each digit to its value plus one, and other codes to 0. */
const toAlphabet = (toValue: (digit: string) => number): Uint8Array =>
  Uint8Array.from({ length: 128 }, (_, code) => toValue(String.fromCharCode(code)) + 1)

const HEX = /* @__PURE__ */ toAlphabet((digit) => Number.parseInt(digit, 16))
const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ'
const BASE64 = /* @__PURE__ */ toAlphabet((digit) =>
  `${LETTERS}${LETTERS.toLowerCase()}0123456789+/`.indexOf(digit),
)

/**
 * Decodes text to 32 bytes; returns `undefined` if its length or a character is invalid. Node's own decoders do not
 * reject invalid characters: `Buffer.from('zz', 'hex')` is empty. Unused bits must be zero, so that different base64
 * texts never decode to the same bytes.
 */
function decode(text: string, alphabet: Uint8Array, bitsPerCharacter: 4 | 6): Uint8Array | undefined {
  if (text.length !== Math.ceil(256 / bitsPerCharacter)) return undefined
  const bytes = new Uint8Array(32)
  let signs = 0
  let bits = 0
  let bitCount = 0
  for (let i = 0; i < text.length; i++) {
    const value = (alphabet[text.charCodeAt(i)] ?? 0) - 1
    signs |= value // negative if any character is invalid
    bits = (bits << bitsPerCharacter) | value
    bitCount = (bitCount + bitsPerCharacter) & 7
    bytes[(i * bitsPerCharacter) >> 3] = bits >> bitCount // an incomplete byte is overwritten on the next iteration
  }
  return signs < 0 || bits & ((1 << bitCount) - 1) ? undefined : bytes
}

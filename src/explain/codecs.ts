import { fromBinary } from '../shared/bytes.ts'

/** Decodes pairs of hex digits. Returns undefined for any other text. */
export function fromHex(text: string): Uint8Array | undefined {
  if (text.length % 2 !== 0 || /[^0-9a-f]/i.test(text)) return undefined
  const bytes = new Uint8Array(text.length / 2)
  for (let at = 0; at < bytes.length; at++) bytes[at] = Number.parseInt(text.slice(2 * at, 2 * at + 2), 16)
  return bytes
}

const HEX = Array.from({ length: 256 }, (_, byte) => (byte + 256).toString(16).slice(1))

/** Encodes bytes in lower-case hex. Several times as fast as the function in signature/bytes.ts, which stays small. */
export function toHex(bytes: Uint8Array): string {
  let hex = ''
  for (const byte of bytes) hex += HEX[byte]
  return hex
}

/** Decodes base64 or base64url, also with white space or without padding. Returns undefined for any other text. */
export function fromBase64(text: string): Uint8Array | undefined {
  try {
    return fromBinary(atob(text.replaceAll('-', '+').replaceAll('_', '/')))
  } catch {
    return undefined
  }
}

const BASE32 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'

/** Decodes base32 without padding, in either case (RFC 4648 section 6). Returns undefined for any other text. */
export function fromBase32(text: string): Uint8Array | undefined {
  const digits = text.toUpperCase()
  if (!/^[A-Z2-7]+$/.test(digits)) return undefined
  const bytes = new Uint8Array((digits.length * 5) >> 3)
  let bits = 0
  let bitCount = 0
  let size = 0
  for (const digit of digits) {
    bits = ((bits << 5) | BASE32.indexOf(digit)) & 0xfff
    bitCount += 5
    if (bitCount < 8) continue
    bitCount -= 8
    bytes[size++] = bits >> bitCount
  }
  return bytes
}

/** Encodes bytes in base32 without padding. */
export function toBase32(bytes: Uint8Array): string {
  let text = ''
  let bits = 0
  let bitCount = 0
  for (const byte of bytes) {
    bits = ((bits << 8) | byte) & 0xfff
    for (bitCount += 8; bitCount >= 5; bitCount -= 5) text += BASE32.charAt((bits >> (bitCount - 5)) & 31)
  }
  return bitCount > 0 ? text + BASE32.charAt((bits << (5 - bitCount)) & 31) : text
}

/** Breaks text into lines of a length. The last line has no line ending. */
export function inLines(text: string, length: number, end: string): string {
  const lines: string[] = []
  for (let start = 0; start < text.length; start += length) lines.push(text.slice(start, start + length))
  return lines.join(end)
}

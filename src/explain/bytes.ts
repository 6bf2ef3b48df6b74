import { fromBinary } from '../shared/bytes.ts'

/** Arguments per call: engines limit them to about 65,000. */
const CHUNK = 0x2000

/** Ten times as fast as the function of the same name in signature/bytes.ts, which stays small. */
export function toBinary(bytes: Uint8Array): string {
  const parts: string[] = []
  for (let start = 0; start < bytes.length; start += CHUNK)
    parts.push(String.fromCharCode.apply(null, bytes.subarray(start, start + CHUNK) as never))
  return parts.join('')
}

/** Decodes bytes. Returns undefined if they are invalid in this charset, or if the platform does not support it. */
export function decodeAs(bytes: Uint8Array, charset: string): string | undefined {
  try {
    return new TextDecoder(charset, { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    return undefined
  }
}

/** Encodes text as UTF-16 without a byte order mark. */
export function utf16(text: string, endian: 'little' | 'big'): Uint8Array {
  const view = new DataView(new ArrayBuffer(2 * text.length))
  for (let i = 0; i < text.length; i++) view.setUint16(2 * i, text.charCodeAt(i), endian === 'little')
  return new Uint8Array(view.buffer)
}

const isSpace = (byte: number | undefined): boolean =>
  byte === 0x20 || byte === 0x09 || byte === 0x0a || byte === 0x0d

/** Removes trailing ASCII white space. Uses a loop, because a regular expression would take quadratic time. */
export function trimEnd(bytes: Uint8Array): Uint8Array {
  let end = bytes.length
  while (isSpace(bytes[end - 1])) end--
  return bytes.subarray(0, end)
}

/** Removes leading ASCII white space. */
export function trimStart(bytes: Uint8Array): Uint8Array {
  let start = 0
  while (isSpace(bytes[start])) start++
  return bytes.subarray(start)
}

/** Removes a leading byte order mark, then ASCII white space at both ends. */
export const trim = (bytes: Uint8Array): Uint8Array =>
  trimEnd(trimStart(bytes.subarray(bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? 3 : 0)))

const HEX = Array.from({ length: 256 }, (_, byte) => (byte + 256).toString(16).slice(1))

/** Encodes bytes in lower-case hex. Several times as fast as the function in signature/bytes.ts, which stays small. */
export function toHex(bytes: Uint8Array): string {
  let hex = ''
  for (const byte of bytes) hex += HEX[byte]
  return hex
}

/** Decodes pairs of hex digits. Returns undefined for any other text. */
export function fromHex(text: string): Uint8Array | undefined {
  if (text.length % 2 !== 0 || /[^0-9a-f]/i.test(text)) return undefined
  const bytes = new Uint8Array(text.length / 2)
  for (let at = 0; at < bytes.length; at++) bytes[at] = Number.parseInt(text.slice(2 * at, 2 * at + 2), 16)
  return bytes
}

/** Decodes base64 or base64url, also with white space or without padding. Returns undefined for any other text. */
export function fromBase64(text: string): Uint8Array | undefined {
  try {
    return fromBinary(atob(text.replaceAll('-', '+').replaceAll('_', '/')))
  } catch {
    return undefined
  }
}

/** Converts base64 to base64url without padding. */
export const toUrlSafe = (base64: string): string =>
  base64.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')

const BASE32 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'

/** Decodes base32 without padding, in either case (RFC 4648 section 6). Returns undefined for any other text. */
export function fromBase32(text: string): Uint8Array | undefined {
  if (!/^[A-Z2-7]+$/i.test(text)) return undefined
  const bytes = new Uint8Array((text.length * 5) >> 3)
  let bits = 0
  let bitCount = 0
  let size = 0
  for (const digit of text.toUpperCase()) {
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

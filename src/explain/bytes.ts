import { fromBinary } from '../shared/bytes.ts'

/** Arguments per call: engines limit them to about 65,000. */
const CHUNK = 0x2000

/** Ten times as fast as the function of the same name in shared/bytes.ts, which stays small. */
export function toBinary(bytes: Uint8Array): string {
  const parts: string[] = []
  for (let start = 0; start < bytes.length; start += CHUNK)
    parts.push(String.fromCharCode.apply(null, bytes.subarray(start, start + CHUNK) as never))
  return parts.join('')
}

/** Decodes bytes. Returns undefined if they are invalid in this charset, or if the platform does not support it. */
export function decodeAs(bytes: Uint8Array, charset: string = 'utf-8'): string | undefined {
  try {
    return new TextDecoder(charset, { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    return undefined
  }
}

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

export function trimStart(bytes: Uint8Array): Uint8Array {
  let start = 0
  while (isSpace(bytes[start])) start++
  return bytes.subarray(start)
}

export const BOM: Uint8Array = Uint8Array.of(0xef, 0xbb, 0xbf)

export const hasBom = (bytes: Uint8Array): boolean => BOM.every((byte, index) => bytes[index] === byte)

/** Removes a leading byte order mark, then ASCII white space at both ends. */
export const trim = (bytes: Uint8Array): Uint8Array =>
  trimEnd(trimStart(bytes.subarray(hasBom(bytes) ? BOM.length : 0)))

const HEX = Array.from({ length: 256 }, (_, byte) => (byte + 256).toString(16).slice(1))

/** Encodes bytes in lower-case hex. Several times as fast as the function in shared/bytes.ts, which stays small. */
export function toHex(bytes: Uint8Array): string {
  let hex = ''
  for (const byte of bytes) hex += HEX[byte]
  return hex
}

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

/** Loads a module of Node where it exists: an import of it would break the bundles of other platforms. */
export function builtin(name: string): unknown {
  const { process } = globalThis as { process?: { getBuiltinModule?: (name: string) => unknown } }
  return process?.getBuiltinModule?.(name)
}

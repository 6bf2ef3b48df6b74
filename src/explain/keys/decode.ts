import { fromBase32, fromBase64, fromHex } from '../codecs.ts'

/** Decodes hex, also with separators, line endings or `0x`. Returns undefined for any other text. */
export function fromSeparatedHex(text: string): Uint8Array | undefined {
  const digits = text.replace(/^0x|^\\x/i, '').replace(/[ :,\r\n-]|\\x|0x/gi, '')
  return digits === '' ? undefined : fromHex(digits)
}

/** Decodes pairs of hex digits up to the first other characters. Returns undefined for fewer than 4 bytes. */
export function fromHexStart(text: string): Uint8Array | undefined {
  const digits = /^(?:[0-9a-f]{2}){4,}/i.exec(text)?.[0]
  return digits === undefined ? undefined : fromHex(digits)
}

/** Decodes base64 as PHP, Node.js and Python do: other characters are skipped, and an incomplete byte is dropped. */
export function fromLooseBase64(text: string): Uint8Array | undefined {
  const [data = ''] = text.replaceAll('-', '+').replaceAll('_', '/').split('=')
  const digits = data.replace(/[^A-Za-z0-9+/]/g, '')
  return fromBase64(digits.length % 4 === 1 ? digits.slice(0, -1) : digits)
}

/** The same without base64url: `-` and `_` are skipped too. */
export const fromStandardBase64 = (text: string): Uint8Array | undefined =>
  fromLooseBase64(text.replace(/[_-]/g, ''))

/** Decodes base32, also with separators and padding. Returns undefined for less than 8 digits. */
export function fromSeparatedBase32(text: string): Uint8Array | undefined {
  const digits = text.replace(/[ -]/g, '').split('=', 1)[0] ?? ''
  return digits.length < 8 ? undefined : fromBase32(digits)
}

/**
 * Decodes bytes. Returns undefined if the bytes are invalid in this charset, or if the platform does not support it.
 */
export function decodeAs(bytes: Uint8Array, charset: string): string | undefined {
  try {
    return new TextDecoder(charset, { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    return undefined
  }
}

const isWhiteSpace = (byte: number | undefined): boolean =>
  byte === 0x20 || byte === 0x09 || byte === 0x0a || byte === 0x0d

/** Removes trailing ASCII white space. Uses a loop, because a regular expression would take quadratic time. */
export function trimEnd(bytes: Uint8Array): Uint8Array {
  let end = bytes.length
  while (isWhiteSpace(bytes[end - 1])) end--
  return bytes.subarray(0, end)
}

/** Removes a leading byte order mark, then ASCII white space at both ends. */
export function trim(bytes: Uint8Array): Uint8Array {
  let start = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? 3 : 0
  while (isWhiteSpace(bytes[start])) start++
  return trimEnd(bytes.subarray(start))
}

/** Encodes text as UTF-16 without a byte order mark. */
export function utf16(text: string, endian: 'little' | 'big'): Uint8Array {
  const view = new DataView(new ArrayBuffer(2 * text.length))
  for (let i = 0; i < text.length; i++) view.setUint16(2 * i, text.charCodeAt(i), endian === 'little')
  return new Uint8Array(view.buffer)
}

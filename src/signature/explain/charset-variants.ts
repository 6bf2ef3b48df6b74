import { fromBinary, toBinary, utf8 } from '../bytes.ts'
import type { Variant } from './explain-types.ts'
import { decodeAs, utf16 } from './text.ts'

/** Yields the body encoded in other charsets, and the results of decoding the body with a wrong charset. */
export function* charsetVariants(body: Uint8Array, text: string | undefined): Generator<Variant> {
  if (text !== undefined) {
    if (/^[\0-\xff]*$/.test(text)) yield [fromBinary(text), 'the body in Latin-1']
    const windows1252 = toWindows1252(text)
    if (windows1252) yield [windows1252, 'the body in Windows-1252']
    for (const endian of ['little', 'big'] as const) {
      yield [utf16(text, endian), 'the body in UTF-16']
      yield [utf16(`\ufeff${text}`, endian), 'the body in UTF-16 with a byte order mark']
    }
  } else {
    const replaced = new TextDecoder('utf-8', { ignoreBOM: true }).decode(body)
    yield [utf8(replaced), 'the body decoded as UTF-8, with its invalid bytes replaced']
  }
  const binary = toBinary(body)
  yield [utf8(binary), 'the body decoded as Latin-1 and encoded as UTF-8']
  yield [utf8(fromWindows1252(binary)), 'the body decoded as Windows-1252 and encoded as UTF-8']
  for (const charset of ['utf-16le', 'utf-16be']) {
    const decoded = decodeAs(body, charset)
    if (decoded === undefined) continue
    yield [utf8(decoded.replace(/^\ufeff/, '')), `the body decoded as ${charset} and encoded as UTF-8`]
  }
}

/**
 * The characters 0x80 to 0x9f of Windows-1252, which are control characters in Latin-1 (WHATWG Encoding,
 * index-windows-1252). Not every platform's TextDecoder supports this charset, and some treat it as Latin-1.
 */
const HIGH =
  '\u20ac\x81\u201a\u0192\u201e\u2026\u2020\u2021\u02c6\u2030\u0160\u2039\u0152\x8d\u017d\x8f' +
  '\x90\u2018\u2019\u201c\u201d\u2022\u2013\u2014\u02dc\u2122\u0161\u203a\u0153\x9d\u017e\u0178'

/** Encodes text as Windows-1252. Returns undefined if the charset lacks a character of the text. */
function toWindows1252(text: string): Uint8Array | undefined {
  const bytes = new Uint8Array(text.length)
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    const isSame = code < 0x80 || (code >= 0xa0 && code <= 0xff)
    const index = isSame ? 0 : HIGH.indexOf(text.charAt(i))
    if (index < 0) return undefined
    bytes[i] = isSame ? code : 0x80 + index
  }
  return bytes
}

const fromWindows1252 = (binary: string): string =>
  binary.replace(/[\x80-\x9f]/g, (character) => HIGH.charAt(character.charCodeAt(0) - 0x80))

import { fromBinary, toBinary, utf8 } from '../bytes.ts'
import type { Variant } from './recompute.ts'
import { decodeAs, utf16 } from './text.ts'

/** The body in another character set, or taken for one that it is not in. */
export function* charsetVariants(body: Uint8Array, text: string | undefined): Generator<Variant> {
  if (text !== undefined) {
    if (/^[\0-\xff]*$/.test(text)) yield [fromBinary(text), 'the body in Latin-1']
    const narrow = toWindows1252(text)
    if (narrow) yield [narrow, 'the body in Windows-1252']
    for (const endian of ['little', 'big'] as const) {
      yield [utf16(text, endian), 'the body in UTF-16']
      yield [utf16(`\ufeff${text}`, endian), 'the body in UTF-16 with a byte order mark']
    }
  } else {
    const replaced = new TextDecoder('utf-8', { ignoreBOM: true }).decode(body)
    yield [utf8(replaced), 'the body read as UTF-8, with each byte that is none replaced']
  }
  const binary = toBinary(body)
  yield [utf8(binary), 'the body read as Latin-1 and written in UTF-8']
  yield [utf8(fromWindows1252(binary)), 'the body read as Windows-1252 and written in UTF-8']
  for (const charset of ['utf-16le', 'utf-16be']) {
    const read = decodeAs(body, charset)
    if (read === undefined) continue
    yield [utf8(read.replace(/^\ufeff/, '')), `the body read as ${charset} and written in UTF-8`]
  }
}

/**
 * What Windows-1252 has where Latin-1 has control characters, from 0x80 to 0x9f (WHATWG Encoding, index-windows-1252).
 * A table, because some platforms' TextDecoder does not know this charset, or takes it for Latin-1.
 */
const HIGH =
  '\u20ac\x81\u201a\u0192\u201e\u2026\u2020\u2021\u02c6\u2030\u0160\u2039\u0152\x8d\u017d\x8f' +
  '\x90\u2018\u2019\u201c\u201d\u2022\u2013\u2014\u02dc\u2122\u0161\u203a\u0153\x9d\u017e\u0178'

/** Undefined where a character has no place in it. */
function toWindows1252(text: string): Uint8Array | undefined {
  const bytes = new Uint8Array(text.length)
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    const isSame = code < 0x80 || (code >= 0xa0 && code <= 0xff)
    const place = isSame ? 0 : HIGH.indexOf(text.charAt(i))
    if (place < 0) return undefined
    bytes[i] = isSame ? code : 0x80 + place
  }
  return bytes
}

const fromWindows1252 = (binary: string): string =>
  binary.replace(/[\x80-\x9f]/g, (character) => HIGH.charAt(character.charCodeAt(0) - 0x80))

import { fromBinary, utf8 } from '../shared/bytes.ts'
import { decodeAs, toBinary, trim, utf16 } from './bytes.ts'
import type { Source, Variant } from './transforms.ts'

/** A charset that differs from Latin-1 in these characters. */
function singleByte(differences: readonly (readonly [byte: number, character: string])[]) {
  const characters = new Map(differences.map(([byte, character]) => [String.fromCharCode(byte), character]))
  const bytes = new Map([...characters].map(([byte, character]) => [character, byte]))
  const toByte = (character: string): string | undefined =>
    bytes.get(character) ?? (character <= '\xff' && !characters.has(character) ? character : undefined)
  return {
    /** Decodes bytes, given as a binary string. */
    decode: (binary: string): string =>
      binary.replace(/[\x80-\xff]/g, (byte) => characters.get(byte) ?? byte),
    /** Returns undefined if the charset lacks a character of the text. */
    encode(text: string): Uint8Array | undefined {
      const isComplete = (text.match(/[^\0-\x7f]/g) ?? []).every(
        (character) => toByte(character) !== undefined,
      )
      const toBytes = (character: string): string => toByte(character) ?? ''
      return isComplete ? fromBinary(text.replace(/[^\0-\x7f]/g, toBytes)) : undefined
    },
  }
}

/** The characters 0x80 to 0x9f of Windows-1252. Not every platform's TextDecoder supports this charset. */
const HIGH =
  '\u20ac\x81\u201a\u0192\u201e\u2026\u2020\u2021\u02c6\u2030\u0160\u2039\u0152\x8d\u017d\x8f' +
  '\x90\u2018\u2019\u201c\u201d\u2022\u2013\u2014\u02dc\u2122\u0161\u203a\u0153\x9d\u017e\u0178'

/** The eight characters in which ISO-8859-15 differs from Latin-1. */
const LATIN_9: Readonly<Record<number, string>> = {
  ...{ 164: '\u20ac', 166: '\u0160', 168: '\u0161', 180: '\u017d' },
  ...{ 184: '\u017e', 188: '\u0152', 189: '\u0153', 190: '\u0178' },
}

const SINGLE_BYTE = [
  ['Latin-1', singleByte([])],
  ['Windows-1252', singleByte(Array.from(HIGH, (character, index) => [0x80 + index, character]))],
  ['ISO-8859-15', singleByte(Object.entries(LATIN_9).map(([byte, character]) => [+byte, character]))],
] as const

const NOT_ASCII = /[^\0-\x7f]/gu

/** Replaces each character beyond ASCII by a text for its characters, its UTF-16 units or its bytes. */
const replaced = (text: string, by: string): string[] => [
  text.replace(NOT_ASCII, by),
  text.replace(/[^\0-\x7f]/g, by),
  text.replace(NOT_ASCII, (character) => by.repeat(utf8(character).length)),
]

export function* charsetChanges(source: Source): Generator<Variant> {
  const { bytes, binary, text, isSmall } = source
  if (text === undefined) {
    const repaired = new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes)
    yield [utf8(repaired), 'decoded as UTF-8, with its invalid bytes replaced']
    yield [utf8(repaired.replaceAll('\ufffd', '')), 'without the bytes that are not UTF-8']
  } else {
    for (const bom of ['', '\ufeff'])
      for (const endian of ['little', 'big'] as const)
        yield [utf16(bom + text, endian), `in UTF-16${bom && ' with a byte order mark'}`]
  }
  for (const charset of ['utf-16le', 'utf-16be']) {
    const decoded = decodeAs(bytes, charset)
    if (decoded !== undefined) yield [trim(utf8(decoded)), `decoded from ${charset}`]
  }
  if (!/[^\0-\x7f]/.test(binary)) return // the charsets below agree in ASCII
  for (const [charset, { encode, decode }] of SINGLE_BYTE) {
    const encoded = text === undefined ? undefined : encode(text)
    yield [encoded, `in ${charset}`]
    const again = encoded && encode(decodeAs(encoded, 'utf-8') ?? '\ufffd')
    yield [again, `in ${charset}, decoded as UTF-8, and again in ${charset}`]
    const decoded = utf8(decode(binary))
    yield [decoded, `decoded as ${charset} and encoded as UTF-8`]
    if (isSmall) yield [utf8(decode(toBinary(decoded))), `decoded as ${charset} and encoded as UTF-8 twice`]
  }
  if (text === undefined || !isSmall) return
  for (const by of ['?', '\ufffd', ''])
    for (const value of replaced(text, by))
      yield [
        value,
        by
          ? `with ${by === '?' ? 'question marks' : 'U+FFFD'} for non-ASCII characters`
          : 'without its non-ASCII characters',
      ]
  yield [
    fromBinary(text.replace(/[^\0-\xff]/gu, '?')),
    'in Latin-1, with question marks for other characters',
  ]
  yield [
    Uint8Array.from({ length: text.length }, (_, at) => text.charCodeAt(at)),
    'with the lower byte of each unit',
  ]
  yield [
    text.replace(NOT_ASCII, (character) => `&#${character.codePointAt(0)};`),
    'with character references',
  ]
}

/** More marks on one character than text has (UAX #15, section 13): putting them in order takes quadratic time. */
const MANY_MARKS = /[\p{M}\uff9e\uff9f]{33}/u

export function* normalForms({ text }: Source): Generator<Variant> {
  if (text === undefined || /^[\0-\x7f]*$/.test(text) || MANY_MARKS.test(text)) return
  for (const form of ['NFC', 'NFD', 'NFKC', 'NFKD'])
    yield [text.normalize(form), `in the Unicode normalization form ${form}`]
}

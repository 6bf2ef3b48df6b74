import { fromBinary } from '../../shared/bytes.ts'

/** A charset with one byte per character. */
export interface SingleByte {
  /** Decodes bytes, given as a binary string. */
  decode(binary: string): string
  /** Returns undefined if the charset lacks a character of the text. */
  encode(text: string): Uint8Array | undefined
}

/** A charset that differs from Latin-1 in these characters, by the code of their byte. */
function differingFromLatin1(differences: Readonly<Record<number, string>>): SingleByte {
  const characters = new Map(
    Object.entries(differences).map(([code, to]) => [String.fromCharCode(+code), to]),
  )
  const codes = new Map([...characters].map(([from, to]) => [to, from]))
  const encodeOne = (character: string): string | undefined =>
    codes.get(character) ?? (character <= '\xff' && !characters.has(character) ? character : undefined)
  return {
    decode: (binary) =>
      characters.size > 0 ? binary.replace(/[\x80-\xff]/g, (byte) => characters.get(byte) ?? byte) : binary,
    encode(text) {
      let isComplete = true
      const binary = text.replace(/[^\0-\x7f]/g, (character) => {
        const byte = encodeOne(character)
        if (byte === undefined) isComplete = false
        return byte ?? ''
      })
      return isComplete ? fromBinary(binary) : undefined
    },
  }
}

/**
 * The characters 0x80 to 0x9f of Windows-1252, which are control characters in Latin-1 (WHATWG Encoding,
 * index-windows-1252). Not every platform's TextDecoder supports this charset, and some treat it as Latin-1.
 */
const HIGH =
  '\u20ac\x81\u201a\u0192\u201e\u2026\u2020\u2021\u02c6\u2030\u0160\u2039\u0152\x8d\u017d\x8f' +
  '\x90\u2018\u2019\u201c\u201d\u2022\u2013\u2014\u02dc\u2122\u0161\u203a\u0153\x9d\u017e\u0178'

/** The eight characters in which ISO-8859-15 differs from Latin-1. */
const LATIN_9 = {
  164: '\u20ac',
  166: '\u0160',
  168: '\u0161',
  180: '\u017d',
  184: '\u017e',
  188: '\u0152',
  189: '\u0153',
  190: '\u0178',
}

export const SINGLE: Readonly<Record<string, SingleByte>> = {
  'Latin-1': differingFromLatin1({}),
  'Windows-1252': differingFromLatin1(
    Object.fromEntries(Array.from(HIGH, (character, index) => [0x80 + index, character])),
  ),
  'ISO-8859-15': differingFromLatin1(LATIN_9),
}

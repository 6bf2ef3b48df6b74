import { fromBinary, toBinary, utf8 } from '../../shared/bytes.ts'
import { SINGLE, type SingleByte } from '../bodies/single-byte.ts'
import { decodeAs, trim, utf16 } from '../text.ts'
import type { Key, KeyRow, KeyTable } from './key-table.ts'

const WINDOWS_1252 = SINGLE['Windows-1252'] as SingleByte

/** Applies a function only to keys that are valid UTF-8. */
const ofText =
  (change: (text: string) => Uint8Array | string | undefined): KeyRow[1] =>
  (text, { isText }) =>
    isText ? change(text) : undefined

/** Applies a function only to text with characters beyond ASCII, because it does not change others. */
const beyondAscii = (change: (text: string) => Uint8Array | string | undefined): KeyRow[1] =>
  ofText((text) => (/[^\0-\x7f]/.test(text) ? change(text) : undefined))

/** Applies a function only to keys that are not valid UTF-8. */
const ofBinary =
  (change: (bytes: Uint8Array) => Uint8Array): KeyRow[1] =>
  (_, { bytes, isText }: Key) =>
    isText ? undefined : change(bytes)

function fromUtf16(bytes: Uint8Array, charset: 'utf-16le' | 'utf-16be'): Uint8Array | undefined {
  if (bytes.length < 4 || (bytes.length % 2 !== 0 && bytes[bytes.length - 1] !== 0x0a)) return undefined
  // A key file in UTF-16LE that ends in a line feed loses the zero byte after it when white space is removed.
  const even = bytes.subarray(0, bytes.length - (bytes.length % 2))
  const text = decodeAs(even, charset)
  return text === undefined ? undefined : trim(utf8(text))
}

/** Character sets and Unicode normal forms. */
export const CHARSETS: KeyTable = [
  'key_encoding',
  [
    ['the key in Latin-1', beyondAscii(fromBinary)],
    ['the key in Windows-1252', beyondAscii((text) => WINDOWS_1252.encode(text))],
    ['the key in UTF-16', ofText((text) => utf16(text, 'little'))],
    ['the key in UTF-16', ofText((text) => utf16(text, 'big'))],
    ['the key in UTF-16 with a byte order mark', ofText((text) => utf16(`\ufeff${text}`, 'little'))],
    ['the key in UTF-16 with a byte order mark', ofText((text) => utf16(`\ufeff${text}`, 'big'))],
    ['the key decoded from UTF-16', (_, { bytes }) => fromUtf16(bytes, 'utf-16le')],
    ['the key decoded from UTF-16', (_, { bytes }) => fromUtf16(bytes, 'utf-16be')],
    ['the key without its zero bytes', (_, { bytes }) => bytes.filter((byte) => byte !== 0)],
    ['the key in the Unicode normal form NFC', beyondAscii((text) => text.normalize('NFC'))],
    ['the key in the Unicode normal form NFD', beyondAscii((text) => text.normalize('NFD'))],
    ['the key in the Unicode normal form NFKC', beyondAscii((text) => text.normalize('NFKC'))],
    ['the key decoded as Latin-1 and encoded as UTF-8', beyondAscii((text) => utf8(toBinary(utf8(text))))],
    [
      'the key decoded as Windows-1252 and encoded as UTF-8',
      beyondAscii((text) => WINDOWS_1252.decode(toBinary(utf8(text)))),
    ],
    [
      'the key with question marks in place of non-ASCII characters',
      beyondAscii((text) => text.replace(/[^\0-\x7f]/gu, '?')),
    ],
    [
      'the key with question marks in place of non-ASCII UTF-16 units',
      beyondAscii((text) => text.replace(/[^\0-\x7f]/g, '?')),
    ],
    [
      'the key with U+FFFD in place of non-ASCII bytes',
      beyondAscii((text) => toBinary(utf8(text)).replace(/[^\0-\x7f]/g, '\ufffd')),
    ],
    ['the key decoded as UTF-8, with its invalid bytes replaced', ofBinary(replaceInvalid)],
    ['the key decoded as Latin-1 and encoded as UTF-8', ofBinary((bytes) => utf8(toBinary(bytes)))],
    [
      'the key decoded as Windows-1252 and encoded as UTF-8',
      ofBinary((bytes) => utf8(WINDOWS_1252.decode(toBinary(bytes)))),
    ],
  ],
]

function replaceInvalid(bytes: Uint8Array): Uint8Array {
  return utf8(new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes))
}

import { concat, toBase64, toBinary, toHex, utf8 } from '../../shared/bytes.ts'
import { fromBase64, inLines, toBase32 } from '../codecs.ts'
import { decodeAs, trim, utf16 } from '../text.ts'
import {
  fromSeparatedBase32 as fromBase32,
  fromSeparatedHex as fromHex,
  fromHexStart,
  fromLooseBase64,
  fromStandardBase64,
} from './decode.ts'
import type { KeyRow, KeyTable } from './key-table.ts'

const base64Url = (bytes: Uint8Array): string =>
  toBase64(bytes).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')

const separated = (bytes: Uint8Array, separator: string): string =>
  (toHex(bytes).match(/../g) ?? []).join(separator)

/** Breaks a text into lines, as `base64` (76 characters), PEM files (64) and Ruby (60) do. */
const lines = (text: string, length: number, end: string): string => inLines(text, length, end) + end

const withLineFeed = (bytes: Uint8Array): Uint8Array => concat([bytes, utf8('\n')])

/** Encodings of a key that the receiver has as it is, or has already decoded. */
export const ENCODED: KeyTable = [
  'key_encoding',
  [
    ['the key encoded in hex', (_, { bytes }) => toHex(bytes)],
    ['the key encoded in base64', (_, { bytes }) => toBase64(bytes)],
    [
      'the key encoded in base64, with a line feed at its end',
      (_, { bytes }) => `${toBase64(bytes)}\n`,
      'common',
    ],
    ['the key and a line feed, encoded in base64', (_, { bytes }) => toBase64(withLineFeed(bytes)), 'common'],
    [
      'the key and a line feed, encoded in base64, with a line feed at its end',
      (_, { bytes }) => `${toBase64(withLineFeed(bytes))}\n`,
    ],
    ['the key encoded in upper-case hex', (_, { bytes }) => toHex(bytes).toUpperCase()],
    ['the key encoded in base64 without padding', (_, { bytes }) => toBase64(bytes).replaceAll('=', '')],
    ['the key encoded in base64url', (_, { bytes }) => base64Url(bytes)],
    [
      'the key encoded in base64url with padding',
      (_, { bytes }) => toBase64(bytes).replaceAll('+', '-').replaceAll('/', '_'),
    ],
    ['the key encoded in base64, with line feeds', (_, { bytes }) => lines(toBase64(bytes), 76, '\n')],
    [
      'the key encoded in base64, with line feeds inside it',
      (_, { bytes }) => lines(toBase64(bytes), 76, '\n').trim(),
    ],
    ['the key encoded in base64, with CR LF', (_, { bytes }) => lines(toBase64(bytes), 76, '\r\n')],
    [
      'the key encoded in base64, with CR LF inside it',
      (_, { bytes }) => lines(toBase64(bytes), 76, '\r\n').trim(),
    ],
    [
      'the key encoded in base64, with lines of 64 characters',
      (_, { bytes }) => lines(toBase64(bytes), 64, '\n'),
    ],
    [
      'the key encoded in base64, with lines of 60 characters',
      (_, { bytes }) => lines(toBase64(bytes), 60, '\n'),
    ],
    ['the key with lines of 64 characters', (key) => lines(key, 64, '\n')],
    ['the key with lines of 76 characters', (key) => lines(key, 76, '\n')],
    ['the key encoded in hex, with a line feed at its end', (_, { bytes }) => `${toHex(bytes)}\n`],
    ['the key and a line feed, encoded in hex', (_, { bytes }) => toHex(withLineFeed(bytes))],
    ...[':', ' ', '-'].flatMap((separator): KeyRow[] => [
      ['the key encoded in hex with separators', (_, { bytes }) => separated(bytes, separator)],
      [
        'the key encoded in upper-case hex with separators',
        (_, { bytes }) => separated(bytes, separator).toUpperCase(),
      ],
    ]),
    ['the key encoded in base64 twice', (_, { bytes }) => toBase64(utf8(toBase64(bytes)))],
    ['the key encoded in hex, then in base64', (_, { bytes }) => toBase64(utf8(toHex(bytes)))],
    ['the key encoded in base64, then in hex', (_, { bytes }) => toHex(utf8(toBase64(bytes)))],
    ['the key encoded in hex twice', (_, { bytes }) => toHex(utf8(toHex(bytes)))],
    [
      'the key encoded in UTF-16, then in base64',
      (key, { isText }) => (isText ? toBase64(utf16(key, 'little')) : undefined),
    ],
    ['the key encoded in base32', (_, { bytes }) => padded(toBase32(bytes))],
    ['the key encoded in base32 without padding', (_, { bytes }) => toBase32(bytes)],
    ['the key encoded in lower-case base32', (_, { bytes }) => toBase32(bytes).toLowerCase()],
    ['the bytes of the key as a list of numbers', (_, { bytes }) => bytes.join(',')],
    ['the bytes of the key as a JSON array', (_, { bytes }) => `[${bytes.join(',')}]`],
    ['the bytes of the key as a list in brackets', (_, { bytes }) => `[${bytes.join(', ')}]`],
    ['the bytes of the key as Go prints them', (_, { bytes }) => `[${bytes.join(' ')}]`],
    ['the JSON of a Buffer with the key', (_, { bytes }) => `{"type":"Buffer","data":[${bytes.join(',')}]}`],
  ],
]

const padded = (base32: string): string => base32.padEnd(Math.ceil(base32.length / 8) * 8, '=')

/** Decodes twice, where the first result is text in the second encoding. */
const twice =
  (first: Decode, second: Decode): KeyRow[1] =>
  (key) => {
    const inner = first(key)
    return inner && second(toBinary(trim(inner)))
  }
type Decode = (text: string) => Uint8Array | undefined

/** Applies a function to the bytes that a text encodes. */
const recode =
  (decode: Decode, change: (bytes: Uint8Array) => Uint8Array | string | undefined): KeyRow[1] =>
  (key) => {
    const bytes = decode(key)
    return bytes?.length ? change(bytes) : undefined
  }

/** What the receiver's key is if it was encoded, and other encodings of the same bytes. */
export const DECODED: KeyTable = [
  'key_encoding',
  [
    ['the key decoded from hex', fromHex, 'common'],
    ['the key decoded from base64', fromBase64, 'common'],
    ['the key decoded from base64, without white space around it', recode(fromBase64, trim)],
    ['the key decoded from base64 by a decoder that skips other characters', fromLooseBase64],
    ['the key decoded from base64 by a decoder that skips "-" and "_" too', fromStandardBase64],
    ['the key decoded from hex, without white space around it', recode(fromHex, trim)],
    ['the key decoded from hex up to its first other character, as in Node.js', fromHexStart],
    ['the key decoded from base32', fromBase32],
    ['the key decoded from base64 twice', twice(fromBase64, fromBase64)],
    ['the key decoded from base64, then from hex', twice(fromBase64, fromHex)],
    ['the key decoded from hex, then from base64', twice(fromHex, fromBase64)],
    ['the key decoded from hex twice', twice(fromHex, fromHex)],
    [
      'the key decoded from base64, then from UTF-16',
      recode(fromBase64, (bytes) => decodeAs(bytes, 'utf-16le')),
    ],
    ['the key in base64 without padding', (key) => (fromBase64(key) ? key.replaceAll('=', '') : undefined)],
    [
      'the key in base64 with padding',
      (key) => (fromBase64(key) ? key.padEnd(Math.ceil(key.length / 4) * 4, '=') : undefined),
    ],
    [
      'the key in base64url',
      (key) => (fromBase64(key) ? key.replaceAll('+', '-').replaceAll('/', '_') : undefined),
    ],
    ['the key in base64url without padding', recode(fromBase64, base64Url)],
    ['the key in standard base64', recode(fromBase64, toBase64)],
    ['the key in hex in place of base64', recode(fromBase64, toHex)],
    [
      'the key in upper-case hex in place of base64',
      recode(fromBase64, (bytes) => toHex(bytes).toUpperCase()),
    ],
    ['the key in base64 in place of hex', recode(fromHex, toBase64)],
    ['the key in base64url in place of hex', recode(fromHex, base64Url)],
    ['the key in hex without separators', recode(fromHex, toHex)],
    ['the key in upper-case hex without separators', recode(fromHex, (bytes) => toHex(bytes).toUpperCase())],
    ['the key in hex with colons', recode(fromHex, (bytes) => separated(bytes, ':'))],
    ['the key decoded from a list of numbers', fromNumbers],
    [
      'the key read as a number',
      (key) => (/^[+-]?[\d.]{1,40}(?:e[+-]?\d{1,3})?$/i.test(key) ? String(Number(key)) : undefined),
    ],
    ['the key without its leading zeros', (key) => (/^\d+$/.test(key) ? key.replace(/^0+/, '') : undefined)],
  ],
]

function fromNumbers(text: string): Uint8Array | undefined {
  const numbers = text.match(/\d+/g) ?? []
  if (numbers.length < 2 || !/^[^\d]*\d{1,3}(?:[, ]{1,2}\d{1,3})+[\]}]*$/.test(text)) return undefined
  return Uint8Array.from(numbers, Number)
}

import { fromBinary, utf8 } from '../../shared/bytes.ts'
import { decodeAs, utf16 } from '../text.ts'
import type { BytesOrText, Variant } from '../types.ts'
import { SINGLE } from './single-byte.ts'
import { type Source, toBinary } from './source.ts'

/** Yields the body encoded in other charsets, and the results of decoding the body with a wrong charset. */
export function* charsetVariants({ bytes, text, binary, isSmall }: Source): Generator<Variant> {
  if (text === undefined) {
    const replaced = new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes)
    yield [replaced, 'the body decoded as UTF-8, with its invalid bytes replaced']
    yield [replaced.replaceAll('\ufffd', ''), 'the body without the bytes that are not UTF-8']
  } else {
    for (const endian of ['little', 'big'] as const) {
      yield [utf16(text, endian), 'the body in UTF-16']
      yield [utf16(`\ufeff${text}`, endian), 'the body in UTF-16 with a byte order mark']
      if (!isSmall) continue
      yield [utf32(text, endian), 'the body in UTF-32']
      yield [utf32(`\ufeff${text}`, endian), 'the body in UTF-32 with a byte order mark']
    }
  }
  for (const charset of ['utf-16le', 'utf-16be']) {
    const decoded = decodeAs(bytes, charset)
    if (decoded === undefined) continue
    yield [decoded.replace(/^\ufeff/, ''), `the body decoded as ${charset} and encoded as UTF-8`]
  }
  if (!/[^\0-\x7f]/.test(binary)) return // charsets below agree in ASCII
  if (text !== undefined) yield* encoded(text, isSmall)
  for (const [charset, { decode }] of Object.entries(SINGLE)) {
    const decoded = decode(binary)
    yield [decoded, `the body decoded as ${charset} and encoded as UTF-8`]
    if (!isSmall) continue
    const twice = decode(toBinary(utf8(decoded)))
    yield [twice, `the body decoded as ${charset} and encoded as UTF-8 twice`]
  }
}

const NOT_ASCII = /[^\0-\x7f]/gu

/** Yields text with characters beyond ASCII in other charsets, or replaced because the charset lacks them. */
function* encoded(text: string, isSmall: boolean): Generator<Variant> {
  for (const [charset, { encode }] of Object.entries(SINGLE)) {
    const bytes = encode(text)
    if (!bytes) continue
    yield [bytes, `the body in ${charset}`]
    const repaired = decodeAs(bytes, 'utf-8')
    const again = repaired === undefined ? undefined : encode(repaired)
    if (again) yield [again, `the body in ${charset}, decoded as UTF-8, and again in ${charset}`]
  }
  for (const [replace, description] of isSmall ? REPLACED : REPLACED.slice(0, 1))
    yield [replace(text), description]
}

/** What encoders write for characters that a charset lacks. */
const REPLACED: readonly [replace: (text: string) => BytesOrText, description: string][] = [
  [(text) => text.replace(NOT_ASCII, '?'), 'the body with a question mark for each non-ASCII character'],
  [(text) => text.replace(/[^\0-\x7f]/g, '?'), 'the body with question marks for each non-ASCII character'],
  [(text) => replaceInBytes(text, '?'), 'the body with a question mark for each non-ASCII byte'],
  [(text) => text.replace(NOT_ASCII, ''), 'the body without its non-ASCII characters'],
  [(text) => text.replace(NOT_ASCII, '\ufffd'), 'the body with U+FFFD for each non-ASCII character'],
  [(text) => replaceInBytes(text, '\ufffd'), 'the body with U+FFFD for each non-ASCII byte'],
  [
    (text) => text.replace(NOT_ASCII, (character) => `&#${character.codePointAt(0)};`),
    'the body with numeric character references for non-ASCII characters',
  ],
  [
    (text) => fromBinary(text.replace(/[^\0-\xff]/gu, '?')),
    'the body in Latin-1, with a question mark for each character that it lacks',
  ],
  [
    (text) =>
      fromBinary(text.replace(/[^\0-\xff]/g, (unit) => String.fromCharCode(unit.charCodeAt(0) & 0xff))),
    'the lower byte of each character of the body',
  ],
  [cesu8, 'the body in CESU-8'],
  [
    (text) => text.replace(/\p{Cs}|[\u{10000}-\u{10ffff}]/gu, '??'),
    'the body with question marks for each surrogate',
  ],
  [
    (text) => text.replace(/[\u{10000}-\u{10ffff}]/gu, '\ufffd\ufffd'),
    'the body with U+FFFD for each surrogate',
  ],
  [
    (text) => text.replace(/[\u{10000}-\u{10ffff}]/gu, '?'),
    'the body with a question mark for each character beyond U+FFFF',
  ],
  [(text) => text.replace(/[\u{10000}-\u{10ffff}]/gu, ''), 'the body without characters beyond U+FFFF'],
]

const replaceInBytes = (text: string, by: string): string =>
  text.replace(NOT_ASCII, (character) => by.repeat(utf8(character).length))

/** UTF-8 of each surrogate alone, as in `utf8` of MySQL and in modified UTF-8 of Java. */
function cesu8(text: string): Uint8Array {
  const surrogate = (unit: number): string =>
    String.fromCharCode(0xe0 | (unit >> 12), 0x80 | ((unit >> 6) & 0x3f), 0x80 | (unit & 0x3f))
  const binary = text.replace(NOT_ASCII, (character) =>
    character.length === 1
      ? toBinary(utf8(character))
      : surrogate(character.charCodeAt(0)) + surrogate(character.charCodeAt(1)),
  )
  return fromBinary(binary)
}

function utf32(text: string, endian: 'little' | 'big'): Uint8Array {
  const view = new DataView(new ArrayBuffer(4 * text.length))
  let size = 0
  for (let at = 0; at < text.length; at++) {
    const code = text.codePointAt(at) as number
    if (code > 0xffff) at++
    view.setUint32(size, code, endian === 'little')
    size += 4
  }
  return new Uint8Array(view.buffer, 0, size)
}

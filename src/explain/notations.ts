import { fromBinary, toBinary, utf8 } from '../shared/bytes.ts'
import { fromBase32, fromBase64, fromHex } from './codecs.ts'
import { decodeAs } from './text.ts'

/** Sizes in bytes of the digests of common hashes, from MD5 to SHA-512. */
const SIZES = new Set([16, 20, 28, 32, 48, 64])

/** How often a notation may be nested, such as base64 of hex. */
const MAX_NESTED = 2

/** Maximum number of characters of a digest, even if it was encoded three times or each byte is escaped. */
const MAX_RUN = 1000

/** Texts up to this length are also read as a whole. */
const MAX_WHOLE = 2000

/**
 * Yields every digest that a text contains: in hex, base64, base64url or base32, in several of these on top of each
 * other, in hex with separators or escapes, as a list of numbers, or as bytes.
 */
export function* digestsIn(text: string, nested = 0): Generator<Uint8Array> {
  for (const [pattern, decode] of NOTATIONS) {
    for (const [run] of text.matchAll(pattern)) {
      if (run.length > MAX_RUN) continue
      const bytes = decode(run)
      if (bytes) yield* digestsInBytes(bytes, nested)
    }
  }
  if (nested > 0 || text.length > MAX_WHOLE) return
  for (const read of WHOLE) {
    const bytes = read(text)
    if (bytes && bytes.length <= MAX_RUN) yield* digestsInBytes(bytes, nested)
  }
}

function* digestsInBytes(bytes: Uint8Array, nested: number): Generator<Uint8Array> {
  if (SIZES.has(bytes.length)) yield bytes
  const inner = nested < MAX_NESTED ? toBinary(bytes) : ''
  if (/^[\x20-\x7e]{16,}$/.test(inner)) yield* digestsIn(inner, nested + 1)
}

type Decode = (text: string) => Uint8Array | undefined

/** Notations of bytes. Each pattern matches only complete runs, and takes linear time. */
const NOTATIONS: readonly [pattern: RegExp, decode: Decode][] = [
  [/[0-9a-f]{32,}/gi, fromHex],
  [/[0-9a-f]{2}(?:[ :-][0-9a-f]{2}){15,}/gi, (run) => fromHex(run.replace(/[ :-]/g, ''))],
  // `0xab, 0xcd`, `\xab\xcd`, `\u00ab\u00cd`, `%ab%cd`
  [
    /(?:(?:0x|\\x|\\u00|%)[0-9a-f]{2}[,; ]{0,2}){16,}/gi,
    (run) => fromHex(run.replace(/0x|\\x|\\u00|[%,; ]/gi, '')),
  ],
  [/[\w+/-]{22,}/g, fromBase64],
  // In standard base64 alone, `-` and `_` are separators, as in `sha256-<base64>`.
  [/[A-Za-z0-9+/]{22,}/g, fromBase64],
  [/[a-z2-7]{26,}/gi, fromBase32],
  // Lists of numbers: JSON, Java (signed), Go (without commas), and typed arrays as JSON objects.
  [/-?\d{1,3}(?:(?:,\s{0,4}| )-?\d{1,3}){15,}/g, (run) => fromNumbers(run.split(/,\s*| /))],
  [/"\d\d?":\d{1,3}(?:,"\d\d?":\d{1,3}){15,}/g, (run) => fromNumbers(run.match(/\d+(?!\d*")/g) ?? [])],
]

/** Ways to read a whole text as bytes. */
const WHOLE: readonly Decode[] = [
  fromCharacters,
  // Bytes that were written as UTF-8, and base64 in several lines.
  (text) =>
    /^[\0-\x7f]*[\x80-\xff][\0-\xff]*$/.test(text)
      ? fromCharacters(decodeAs(fromBinary(text), 'utf-8') ?? '')
      : undefined,
  (text) => (/\s|\\[nr]/.test(text) ? fromBase64(text.replace(/\s|\\[nr]|=/g, '')) : undefined),
  (text) => fromLiteral(text, (characters) => characters),
  // Go and Ruby show valid UTF-8 as characters.
  (text) => fromLiteral(text, (characters) => toBinary(utf8(characters))),
]

/** Reads a text whose characters are the bytes of a digest. Printable text is not, because it would match by design. */
function fromCharacters(text: string): Uint8Array | undefined {
  return SIZES.has(text.length) && /^[\0-\xff]*$/.test(text) && /[^\x20-\x7e]/.test(text)
    ? fromBinary(text)
    : undefined
}

const ESCAPES: Readonly<Record<string, number>> = {
  0: 0,
  a: 7,
  b: 8,
  t: 9,
  n: 10,
  v: 11,
  f: 12,
  r: 13,
  e: 27,
}

/** Reads a string literal with escapes: `b'\x12a\n'` (Python), `"\x12a\e"` (Ruby, PHP), `"\u0012a\n"` (JSON). */
function fromLiteral(text: string, toBytes: (characters: string) => string): Uint8Array | undefined {
  const [, literal] =
    /^\w{0,20}=?\s?b?(?:"(.*)"|'(.*)')$/s.exec(text)?.filter((part) => part !== undefined) ?? []
  if (!literal?.includes('\\')) return undefined
  return fromCharacters(
    literal.replace(
      /\\(?:x([0-9a-f]{2})|u([0-9a-f]{4})|(.))|[^\\]+/gis,
      (characters, x?: string, u?: string, escaped?: string) => {
        if (x) return String.fromCharCode(Number.parseInt(x, 16))
        if (u) return toBytes(String.fromCharCode(Number.parseInt(u, 16)))
        if (!escaped) return toBytes(characters)
        return escaped in ESCAPES ? String.fromCharCode(ESCAPES[escaped] as number) : escaped
      },
    ),
  )
}

/** Reads numbers as bytes: from 0 to 255, or from -128 to 127 where bytes are signed. */
function fromNumbers(numbers: readonly string[]): Uint8Array | undefined {
  const bytes = numbers.map(Number)
  return bytes.every((byte) => byte >= -128 && byte <= 255) ? Uint8Array.from(bytes) : undefined
}

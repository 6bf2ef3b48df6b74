import { fromBinary, toBase64 } from '../shared/bytes.ts'
import { decodeSignature, type SignatureEncoding } from '../signature/signature.ts'
import { decodeAs, fromBase64, fromHex, toBinary, toHex } from './bytes.ts'
import { decodeBackslashes } from './transforms.ts'
import type { Finding } from './types.ts'

const SIZES = new Set([16, 20, 28, 32, 48, 64])

/** How often a notation may be nested, such as base64 of hex. */
const MAX_NESTED = 2

/** Maximum number of characters of a digest, even if it was encoded three times or each byte is escaped. */
const MAX_RUN = 1000

/** Texts up to this length are also read as a whole. */
const MAX_WHOLE = 2000

/**
 * Yields every digest that a text contains: in hex, base64 or base64url, in several of these on top of each other,
 * in hex with separators or escapes, as a list of numbers, or as bytes.
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
  // Lists of numbers: JSON, Java (signed), Go (without commas), and typed arrays as JSON objects.
  [/-?\d{1,3}(?:(?:,\s{0,4}| )-?\d{1,3}){15,}/g, (run) => fromNumbers(run.split(/,\s*| /))],
  [/"\d\d?":\d{1,3}(?:,"\d\d?":\d{1,3}){15,}/g, (run) => fromNumbers(run.match(/\d+(?!\d*")/g) ?? [])],
]

const WHOLE: readonly Decode[] = [
  fromCharacters,
  // Bytes that were written as UTF-8, and base64 in several lines.
  (text) =>
    /^[\0-\x7f]*[\x80-\xff][\0-\xff]*$/.test(text)
      ? fromCharacters(decodeAs(fromBinary(text)) ?? '')
      : undefined,
  (text) => (/\s|\\[nr]/.test(text) ? fromBase64(text.replace(/\s|\\[nr]|=/g, '')) : undefined),
  fromLiteral,
]

/** Reads a text whose characters are the bytes of a digest. Printable text is not, because it would match by design. */
function fromCharacters(text: string): Uint8Array | undefined {
  return SIZES.has(text.length) && /^[\0-\xff]*$/.test(text) && /[^\x20-\x7e]/.test(text)
    ? fromBinary(text)
    : undefined
}

/** Reads a string literal with escapes: `b'\x12a\n'` (Python), `"\x12a\e"` (Ruby, PHP), `"\u0012a\n"` (JSON). */
function fromLiteral(text: string): Uint8Array | undefined {
  const [, , literal] = /^\w{0,20}=?\s?b?(["'])(.*)\1$/s.exec(text) ?? []
  return literal?.includes('\\') ? fromCharacters(decodeBackslashes(literal)) : undefined
}

/** Reads numbers as bytes: from 0 to 255, or from -128 to 127 where bytes are signed. */
function fromNumbers(numbers: readonly string[]): Uint8Array | undefined {
  const bytes = numbers.map(Number)
  return bytes.every((byte) => byte >= -128 && byte <= 255) ? Uint8Array.from(bytes) : undefined
}

export const LABEL: RegExp = /^(?:sha-?\d{1,3}|hmac(?:-?sha-?\d{1,3})?|sig(?:nature)?|v\d|s)[=: ]\s?/i

/** Maximum length of a digest in hex or base64 with a label, in characters. */
const MAX_PLAIN = 200

/**
 * Returns why the receiver could not read a text that contains a digest, if the text were the value of the signature
 * header. Returns an empty list if it could, or if the digest is that of another algorithm in hex or base64.
 */
export function notationMistakes(text: string, digest: Uint8Array, encoding: SignatureEncoding): Finding[] {
  if (typeof decodeSignature(text, encoding) !== 'string') return []
  const cause = 'signature_encoding'
  if (typeof decodeSignature(text) !== 'string') {
    const evidence = `The signature is not in ${encoding}, the only encoding that the receiver accepts.`
    return [{ cause, evidence }]
  }
  if (digest.length !== 32 && text.length <= MAX_PLAIN) {
    const bare = text.replace(LABEL, '')
    const base64 = toBase64(digest)
    if ([base64, base64.replaceAll('=', '')].includes(bare) || bare.toLowerCase() === toHex(digest)) return []
  }
  const evidence =
    'The received value contains the signature in another encoding, or with other characters around it.'
  return [{ cause, evidence }]
}

const perByte = (digest: string, write: (byte: number) => string): string =>
  (digest.match(/../g) ?? []).map((pair) => write(Number.parseInt(pair, 16))).join('')

/** Converts a byte to the 32-bit integer that a signed byte becomes in Java, as `Integer.toHexString` writes it. */
const toJavaInt = (byte: number): string => (byte < 128 ? byte : 2 ** 32 - 256 + byte).toString(16)

const toSigned = (digest: string): bigint => BigInt.asIntN(4 * digest.length, BigInt(`0x${digest}`))

const ZEROS = 'in hex, but its leading zeros are missing'
const NEGATIVE = 'in hex, but bytes above 7f are written as negative numbers'

/** Ways to write a digest as a number, or each of its bytes. The pattern is a quick check of the text. */
const NUMBERS: readonly [pattern: RegExp, description: string, write: (digest: string) => string][] = [
  [/^[0-9a-f]{24,127}$/, ZEROS, (digest) => digest.replace(/^0+/, '')],
  [/^[0-9a-f]{24,127}$/, ZEROS, (digest) => perByte(digest, (byte) => byte.toString(16))],
  [/ffffff/, NEGATIVE, (digest) => perByte(digest, toJavaInt)],
  [/ffffff/, NEGATIVE, (digest) => perByte(digest, (byte) => toJavaInt(byte).padStart(2, '0'))],
  [/^-[0-9a-f]{24,127}$/, 'in hex, but as a negative number', (digest) => toSigned(digest).toString(16)],
  [/^\d{30,155}$/, 'in decimal digits', (digest) => BigInt(`0x${digest}`).toString()],
]

/**
 * Reads a text as a digest that was written without its zeros, or as a number. The result compares it with a digest in
 * lower-case hex, and says how that digest was written; undefined if it is another one.
 */
export function readNumber(text: string): (digest: string) => string | undefined {
  const lower = text.toLowerCase()
  const rows = NUMBERS.filter(([pattern]) => pattern.test(lower))
  return (digest) =>
    rows.find(([, description, write]) => {
      // A text that lacks zeros is shorter than the digest. This check saves most of the time for hex.
      if (description === ZEROS && lower.length >= digest.length) return false
      return write(digest) === lower
    })?.[1]
}

/**
 * Reads a text as a part of a digest, truncated before or after encoding. Requires at least 8 bytes, because fewer
 * could match by chance.
 */
export function readPart(text: string): (digest: string) => boolean {
  const lower = text.toLowerCase()
  const isHex = /^[0-9a-f]{16,127}$/.test(lower)
  const unpadded = text.replace(/={1,2}$/, '')
  const isBase64 = /^[A-Za-z0-9+/]{11,86}$/.test(unpadded) && (unpadded === text || text.length % 4 === 0)
  const size = (unpadded.length * 3) >> 2 // the bytes that this many base64 characters contain
  return (digest) => {
    if (isHex && lower.length < digest.length && digest.includes(lower)) return true
    if (!isBase64 || 2 * size >= digest.length) return false
    const bytes = fromHex(digest) as Uint8Array
    const start = toBase64(bytes.subarray(0, size)).replaceAll('=', '')
    return start === unpadded || toBase64(bytes).includes(text)
  }
}

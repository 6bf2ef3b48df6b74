import { toBase64 } from '../shared/bytes.ts'
import { fromHex } from './codecs.ts'

/** Compares a digest, in lower-case hex, with a text that lacks parts of it. Returns undefined if it is another one. */
type Compare = (digest: string) => string | undefined

/**
 * Reads a text as a digest that was written without its zeros, or as a number. The result says how the digest was
 * written.
 */
export function readNumber(text: string): Compare {
  const lower = text.toLowerCase()
  const rows = NUMBERS.filter(([pattern]) => pattern.test(lower))
  return (digest) =>
    rows.find(([, description, write]) => {
      // A text that lacks zeros is shorter than the digest. This check saves most of the time for hex.
      if (description === ZEROS && lower.length >= digest.length) return false
      return write(digest) === lower
    })?.[1]
}

const perByte = (digest: string, write: (byte: number) => string): string =>
  (digest.match(/../g) ?? []).map((pair) => write(Number.parseInt(pair, 16))).join('')

const toHexNumber = (number: number): string => number.toString(16)

/** Converts a byte to the 32-bit integer that a signed byte becomes in Java, as `Integer.toHexString` writes it. */
const toJavaInt = (byte: number): string => toHexNumber(byte < 128 ? byte : 2 ** 32 - 256 + byte)

const toSigned = (digest: string): bigint => BigInt.asIntN(4 * digest.length, BigInt(`0x${digest}`))

const ZEROS = 'in hex, but its leading zeros are missing'
const NEGATIVE = 'in hex, but bytes above 7f are written as negative numbers'

/** Ways to write a digest as a number, or each of its bytes. The pattern is a quick check of the text. */
const NUMBERS: readonly [pattern: RegExp, description: string, write: (digest: string) => string][] = [
  [/^[0-9a-f]{24,127}$/, ZEROS, (digest) => digest.replace(/^0+/, '')],
  [/^[0-9a-f]{24,127}$/, ZEROS, (digest) => perByte(digest, toHexNumber)],
  [/ffffff/, NEGATIVE, (digest) => perByte(digest, toJavaInt)],
  [/ffffff/, NEGATIVE, (digest) => perByte(digest, (byte) => toJavaInt(byte).padStart(2, '0'))],
  [/^-[0-9a-f]{24,127}$/, 'in hex, but as a negative number', (digest) => toSigned(digest).toString(16)],
  [/^\d{30,155}$/, 'in decimal digits', (digest) => BigInt(`0x${digest}`).toString()],
  [/^-\d{30,155}$/, 'in decimal digits', (digest) => toSigned(digest).toString()],
]

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
    return (
      toBase64(bytes.subarray(0, size)).replaceAll('=', '') === unpadded || toBase64(bytes).includes(text)
    )
  }
}

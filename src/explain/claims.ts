import { fromBinary, toBase64 } from '../shared/bytes.ts'
import { decodeSignature, percentDecode, type SignatureEncoding } from '../signature/signature.ts'
import { decodeAs, fromBase64, fromHex, toBinary, toHex, trim } from './bytes.ts'
import type { Cause } from './causes.ts'
import type { Json } from './json.ts'
import type { ReceivedRequest } from './request.ts'
import { readFields, readMembers } from './signed-texts.ts'
import { decodeBackslashes } from './transforms.ts'
import { type Finding, found } from './types.ts'

export interface Claim {
  /** True for the header or form field from which the receiver reads the signature. */
  isPrimary: boolean
  /** What keeps the receiver from reading this signature. Empty if it can. */
  mistakes: readonly Finding[]
}

/** Every value of a request that could be a signature. */
export interface Claims {
  readonly otherHeaders: readonly string[]
  /** False if some headers were not searched, because there are too many or they are too long. */
  readonly isComplete: boolean
  /** True if no value could be a signature, so that a search is useless. */
  readonly isEmpty: boolean
  /** Finds the claim with this digest, given in lower-case hex. */
  find(digest: string): Claim | undefined
  /** Returns false if a digest of this size in bytes cannot be found, so that computing it is useless. */
  canFind(size: number): boolean
}

/** Maximum length of the received signature, in characters. A longer one is not searched. */
export const MAX_SIGNATURE: number = 128 * 1024

export function readClaims(request: ReceivedRequest, encoding: SignatureEncoding): Claims {
  const claims = new Map<string, Claim>()
  const sizes = new Set<number>()
  const add = (isPrimary: boolean, [digest, mistakes]: FoundDigest): void => {
    const hex = toHex(digest)
    sizes.add(digest.length)
    if (!claims.has(hex)) claims.set(hex, { isPrimary, mistakes })
  }
  if (request.value.length <= MAX_SIGNATURE)
    for (const digest of readPrimary(request, encoding)) add(true, digest)
  const isCut = sizes.size === 0 // or not a signature at all
  const { otherHeaders, isComplete, digests } = readOthers(request, encoding)
  for (const digest of digests) add(false, digest)

  // The text that may be a part of a signature, without a prefix and a cut escape sequence.
  const text = request.decoded.replace(/%.?$/, '').replace(LABEL, '')
  const describeNumber = readNumber(text)
  const isPart = readPart(text)
  const primary = (...mistake: Parameters<typeof found>): Claim => ({
    isPrimary: true,
    mistakes: [found(...mistake)],
  })
  return {
    isEmpty: claims.size === 0 && !/^[\w+/-]{11,}=*$/.test(text),
    otherHeaders,
    isComplete,
    find(digest) {
      const claim = claims.get(digest)
      if (claim || text === '') return claim
      const notation = describeNumber(digest)
      if (notation) return primary('signature_encoding', `The received value is the signature ${notation}.`)
      if (!isPart(digest)) return undefined
      return primary('signature_truncated', 'The received value is only a part of the signature.')
    },
    canFind: (size) => sizes.has(size) || (isCut && text !== ''),
  }
}

/** A digest with what keeps the receiver from reading it: its place, and the notation that the receiver cannot read. */
type FoundDigest = readonly [digest: Uint8Array, mistakes: readonly Finding[]]

function* readPrimary(
  { value, decoded }: ReceivedRequest,
  encoding: SignatureEncoding,
): Generator<FoundDigest> {
  const whole = decodeSignature(value)
  if (typeof whole !== 'string') yield [whole, notationMistakes(value, whole, encoding)]
  for (const [cause, evidence, ...texts] of repairs(value, decoded)) {
    for (const text of texts) {
      const digest = decodeSignature(text)
      if (typeof digest !== 'string')
        yield [digest, [{ cause, evidence }, ...notationMistakes(text, digest, encoding)]]
    }
  }
  for (const text of new Set([decoded, value]))
    for (const digest of digestsIn(text)) yield [digest, notationMistakes(text, digest, encoding)]
}

/** Repairs the value in each of several ways, so that the receiver can read it. */
function repairs(value: string, decoded: string): [cause: Cause, evidence: string, ...texts: string[]][] {
  const isList = /,\s*\S/.test(value) && !/^v\d/.test(value) // `v1,<signature>` is one value
  const list = isList ? value.split(',', 100).map((part) => part.trim()) : []
  const plus = 'The value is the signature after each space in it is replaced by a plus sign.'
  const twice = percentDecode(decoded)
  const percent = 'The value is the signature after percent-decoding it more than once.'
  return [
    ['signature_doubled', 'The header has several values, and one of them is the signature.', ...list],
    ['signature_percent_encoded', plus, decoded.includes(' ') ? decoded.replaceAll(' ', '+') : ''],
    ['signature_percent_encoded', percent, twice, percentDecode(twice)],
  ]
}

/** Headers whose values are hashes of the body by definition (RFC 9530, RFC 3230, RFC 1864, cloud storage). */
const HASHES =
  /^(repr-|content-|want-)*digest$|^content-(md5|sha256)$|^etag$|^if-(none-)?match$|^x-(amz-content-sha256|amz-checksum-\w+|goog-hash|ms-content-(sha256|md5)|ms-blob-content-md5)$/

/** Headers that name a request or a message. They often have as many digits as a signature. */
const IDS = /(^|-)(id|uuid|guid|trace|traceparent|tracestate|request|correlation|b3)$/

/** Headers with these names contain signatures, whatever their values are. */
const SIGNATURES = /signature|(^|-)(sig|sign|hmac)(-|$)/

/** A header name (RFC 9110). Others are not reported, because a log could be forged with them. */
const NAME = /^[\w!#$%&'*+.^`|~-]{1,100}$/

/** A value such as `HMAC <signature>`. The fix says that the sender must change it. */
const WORDS = /^[a-z][\w-]{2,40}\s/i

/** Limits for other headers: their number, the characters of each one, and of all together; and for the query. */
const MAX_HEADERS = 200
const MAX_VALUE = 2000
const MAX_VALUES = 32 * 1024
const MAX_QUERY = 4000

/** How deep the members of a JSON body are searched, and how many members of each inner object. */
const MAX_DEPTH = 3
const MAX_NESTED = 20

function readOthers(request: ReceivedRequest, encoding: SignatureEncoding) {
  const { headers, headerName, keys, url = '', body } = request
  const otherHeaders: string[] = []
  const digests: FoundDigest[] = []
  const add = (cause: Cause, text: string, values: readonly Uint8Array[], describe: () => string): void => {
    // Described only if it is found, because comparing names with keys takes long.
    const mistake: Finding = {
      cause,
      get evidence() {
        return describe()
      },
    }
    // The words around a signature in a header belong to its place, and are not reported as another mistake.
    const isAmongWords = cause === 'signature_in_other_header' && WORDS.test(text)
    for (const digest of values)
      digests.push([digest, [mistake, ...(isAmongWords ? [] : notationMistakes(text, digest, encoding))]])
  }
  let isComplete = headers.size <= MAX_HEADERS
  let left = MAX_VALUES
  for (const [name, value] of [...headers].slice(0, MAX_HEADERS)) {
    if (name === headerName || HASHES.test(name) || !NAME.test(name)) continue
    const text = value.slice(0, Math.min(MAX_VALUE, left))
    left -= text.length
    if (text.length < value.length) isComplete = false
    const values = [...digestsIn(percentDecode(text))]
    if (SIGNATURES.test(name) ? text !== '' : values.some(({ length }) => length >= 20) && !IDS.test(name))
      otherHeaders.push(name)
    const shownText = name === 'cookie' ? `cookie ${text}` : text
    add('signature_in_other_header', shownText, values, () => describeHeader(name, text, keys))
  }
  const query = new URLSearchParams(/\?([^#]*)/.exec(url)?.[1]?.slice(0, MAX_QUERY).replaceAll('+', '%2B'))
  const members = textMembers(readMembers(body)?.members ?? [])
  const places: [cause: Cause, where: string, texts: Iterable<readonly [name: string, text: string]>][] = [
    ['signature_in_query', 'The query of the URL contains the signature, in the parameter', query],
    ['signature_in_body', 'The JSON of the body contains the signature, in the member', members],
    ['signature_in_form_field', 'The form contains the signature, in the field', readFields(body)],
  ]
  for (const [cause, where, texts] of places) {
    for (const [name, text] of texts) {
      if (text.length > MAX_VALUE) continue
      const values = [...digestsIn(cause === 'signature_in_form_field' ? percentDecode(text) : text)]
      add(cause, text, values, () => (isShown(name, keys) ? `${where} ${name}.` : where.replace(/,.*/, '.')))
    }
  }
  return { otherHeaders, isComplete, digests }
}

function describeHeader(name: string, value: string, keys: readonly Uint8Array[]): string {
  const start = `${isShown(name, keys) ? `The header ${name}` : 'Another header'} contains the signature`
  const isAmongWords = typeof decodeSignature(value) === 'string' && (name === 'cookie' || WORDS.test(value))
  return isAmongWords ? `${start} among other words.` : `${start}.`
}

function* textMembers(members: Json['members'], depth = 0): Generator<[name: string, text: string]> {
  for (const { name, value } of members) {
    if (value.kind === 'string') yield [name, value.text]
    else if (depth < MAX_DEPTH) yield* textMembers(value.members.slice(0, MAX_NESTED), depth + 1)
  }
}

/** Maximum size in bytes of the part of a key that names are compared with in all notations. */
const MAX_KEY = 4096

/** A name contains a key if this many letters and digits are the same. For a shorter key, half of it is enough. */
const MAX_SAME = 12
const MIN_SAME = 4

/**
 * Returns true for a name that evidence may show: a word as people write it, in which there is no part of a key. The
 * sender chooses the names, and may have confused a name with a key or a signature: hex digits, a long word, or digits
 * in three or more places, as in base64.
 */
export const isShown = (name: string, keys: readonly Uint8Array[]): boolean =>
  /^[\w$.-]{1,40}$/.test(name) &&
  !/[0-9a-f]{12}|[a-z\d]{25}|(\d+\D+){2}\d/i.test(name) &&
  !containsKey(name, keys)

/** Returns true if a text contains a key, or a half of it, in any notation. */
export function containsKey(text: string, keys: readonly Uint8Array[]): boolean {
  const lower = text.toLowerCase()
  const letters = lettersOf(text)
  return keys.some((key) => {
    const start = trim(key).subarray(0, MAX_KEY)
    const written = toBinary(start)
    const plain = decodeAs(start)
    if ([written, plain].some((form) => form && lower.includes(form.toLowerCase()))) return true
    const decoded = [start, fromHex(written), fromBase64(written)]
    const notations = decoded.flatMap((bytes) => (bytes ? [toHex(bytes), toBase64(bytes)] : []))
    if (plain !== undefined) notations.push(plain)
    return notations.map(lettersOf).some((notation) => {
      const size = Math.max(MIN_SAME, Math.min(MAX_SAME, Math.ceil(notation.length / 2)))
      const starts = Array.from({ length: Math.max(0, letters.length - size + 1) }, (_, at) => at)
      return starts.some((at) => notation.includes(letters.slice(at, at + size)))
    })
  })
}

/** Quotes, prefixes and separators do not hide a key. */
const lettersOf = (text: string): string => text.toLowerCase().replace(/[^\p{L}\p{N}]/gu, '')

const SIZES = new Set([16, 20, 28, 32, 48, 64])

/** How often a notation may be nested, such as base64 of hex. */
const MAX_LAYERS = 2

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
  const inner = nested < MAX_LAYERS ? toBinary(bytes) : ''
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
  if (typeof decodeSignature(text) !== 'string')
    return [found(cause, `The signature is not in ${encoding}, the only encoding that the receiver accepts.`)]
  if (digest.length !== 32 && text.length <= MAX_PLAIN) {
    const bare = text.replace(LABEL, '')
    const base64 = toBase64(digest)
    if ([base64, base64.replaceAll('=', '')].includes(bare) || bare.toLowerCase() === toHex(digest)) return []
  }
  const what = 'the signature in another encoding, or with other characters around it'
  return [found(cause, `The received value contains ${what}.`)]
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

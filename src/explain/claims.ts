import { toBase64, toHex } from '../signature/bytes.ts'
import { decodeSignature, percentDecode, type SignatureEncoding } from '../signature/encoding.ts'
import { digestsIn } from './notations.ts'
import { type OtherClaims, readOtherClaims } from './other-claims.ts'
import { readNumber, readPart } from './parts.ts'
import type { ReceivedRequest } from './request.ts'
import type { Finding } from './types.ts'

/** Where a signature was found in the request. */
export interface Claim {
  /** True for the header or form field from which the receiver reads the signature. */
  isPrimary: boolean
  /** Undefined if the receiver can read this signature. */
  mistake?: Finding
}

/** Every value of a request that could be a signature. */
export interface Claims extends Pick<OtherClaims, 'otherHeaders' | 'isComplete'> {
  /** Finds the claim with this digest, given in lower-case hex. */
  find(digest: string): Claim | undefined
  /** True if no value could be a signature, so that a search is useless. */
  readonly isEmpty: boolean
  /** Returns false if a digest of this size in bytes cannot be found, so that computing it is useless. */
  canFind(size: number): boolean
}

/** Maximum length of the received signature, in characters. A longer one is not searched. */
export const MAX_SIGNATURE: number = 128 * 1024

/** Maximum length of a digest in hex or base64 with a label, in characters. */
const MAX_PLAIN = 200

/** Reads all values that could be a signature. */
export function readClaims(request: ReceivedRequest, encoding: SignatureEncoding): Claims {
  const claims = new Map<string, Claim>()
  const sizes = new Set<number>()
  const add = (digest: Uint8Array, claim: Claim): void => {
    const hex = toHex(digest)
    sizes.add(digest.length)
    if (!claims.has(hex)) claims.set(hex, claim)
  }
  if (request.value.length <= MAX_SIGNATURE)
    for (const [digest, mistake] of readPrimary(request, encoding))
      add(digest, { isPrimary: true, ...mistake })
  const isCut = sizes.size === 0 // or not a signature at all
  const { otherHeaders, isComplete, digests } = readOtherClaims(request)
  for (const [digest, mistake] of digests) add(digest, { isPrimary: false, mistake })

  const text = readCut(request)
  const describeNumber = readNumber(text)
  const isPart = readPart(text)
  return {
    isEmpty: claims.size === 0 && !/^[\w+/-]{11,}=*$/.test(text),
    otherHeaders,
    isComplete,
    find(digest) {
      const claim = claims.get(digest)
      if (claim || text === '') return claim
      const notation = describeNumber(digest)
      if (notation) {
        const evidence = `The received value is the signature ${notation}.`
        return { isPrimary: true, mistake: { cause: 'signature_encoding', evidence } }
      }
      return isPart(digest) ? { isPrimary: true, mistake: TRUNCATED } : undefined
    },
    canFind: (size) => sizes.has(size) || (isCut && text !== ''),
  }
}

const TRUNCATED: Finding = {
  cause: 'signature_truncated',
  evidence: 'The received value is only a part of the signature.',
}

/** A name before a signature, such as `sha256=` or `v1=`. */
const LABEL = /^(?:sha-?\d{1,3}|hmac(?:-?sha-?\d{1,3})?|sig(?:nature)?|v\d|s)[=: ]\s?/i

/** Returns the text that may be a part of a signature, without a prefix and a cut escape sequence. */
const readCut = ({ decoded }: ReceivedRequest): string => decoded.replace(/%.?$/, '').replace(LABEL, '')

type Mistake = { mistake?: Finding }

/** Yields the digests in the value that the receiver reads, with the mistake that keeps the receiver from reading it. */
function* readPrimary(
  { value, decoded }: ReceivedRequest,
  encoding: SignatureEncoding,
): Generator<[Uint8Array, Mistake]> {
  const exact = decodeSignature(value, encoding)
  if (typeof exact !== 'string') yield [exact, {}]
  const excluded = decodeSignature(value)
  if (typeof excluded !== 'string') {
    const evidence = `The signature is not in ${encoding}, the only encoding that the receiver accepts.`
    yield [excluded, mistake('signature_encoding', evidence)]
  }
  for (const [decodeAgain, found] of REPAIRS) {
    for (const text of decodeAgain(value, decoded)) {
      const digest = decodeSignature(text)
      if (typeof digest !== 'string') yield [digest, found]
    }
  }
  for (const text of new Set([decoded, value])) {
    for (const digest of digestsIn(text)) {
      const isPlain = digest.length !== 32 && isPlainText(text, digest) // another algorithm
      yield [digest, isPlain ? {} : ENCODED]
    }
  }
}

/** Returns true for a digest in hex or base64, also with a label such as `sha1=`. */
function isPlainText(text: string, digest: Uint8Array): boolean {
  if (text.length > MAX_PLAIN) return false
  const bare = text.replace(LABEL, '')
  const base64 = toBase64(digest)
  return bare.toLowerCase() === toHex(digest) || bare === base64 || bare === base64.replaceAll('=', '')
}

const mistake = (cause: Finding['cause'], evidence: string): Mistake => ({ mistake: { cause, evidence } })

const ENCODED = mistake(
  'signature_encoding',
  'The received value contains the signature in another encoding, or with other characters around it.',
)

/** Ways to repair the value: each row returns texts that the receiver can read. */
const REPAIRS: readonly [repair: (value: string, decoded: string) => string[], found: Mistake][] = [
  [
    (value) =>
      // `v1,<signature>` is one value.
      /,\s*\S/.test(value) && !/^v\d/.test(value) ? value.split(',', 100).map((part) => part.trim()) : [],
    mistake('signature_doubled', 'The header has several values, and one of them is the signature.'),
  ],
  [
    (_, decoded) => (decoded.includes(' ') ? [decoded.replaceAll(' ', '+')] : []),
    mistake(
      'signature_percent_encoded',
      'The value is the signature after each space in it is replaced by a plus sign.',
    ),
  ],
  [
    (_, decoded) => [percentDecode(decoded), percentDecode(percentDecode(decoded))],
    mistake(
      'signature_percent_encoded',
      'The value is the signature after percent-decoding it more than once.',
    ),
  ],
]

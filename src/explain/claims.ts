import { toHex } from '../shared/bytes.ts'
import { decodeSignature, percentDecode, type SignatureEncoding } from '../signature/signature.ts'
import { LABEL, notationMistakes } from './notation-mistake.ts'
import { digestsIn } from './notations.ts'
import { type OtherClaims, readOtherClaims } from './other-claims.ts'
import { readNumber, readPart } from './parts.ts'
import type { ReceivedRequest } from './request.ts'
import type { Finding } from './types.ts'

/** Where a signature was found in the request. */
export interface Claim {
  /** True for the header or form field from which the receiver reads the signature. */
  isPrimary: boolean
  /** What keeps the receiver from reading this signature. Empty if it can. */
  mistakes: readonly Finding[]
}

/** Every value of a request that could be a signature. */
export interface Claims extends Pick<OtherClaims, 'otherHeaders' | 'isComplete'> {
  /** The encodings of a signature that the receiver accepts. */
  readonly encoding: SignatureEncoding
  /** Finds the claim with this digest, given in lower-case hex. */
  find(digest: string): Claim | undefined
  /** True if no value could be a signature, so that a search is useless. */
  readonly isEmpty: boolean
  /** Returns false if a digest of this size in bytes cannot be found, so that computing it is useless. */
  canFind(size: number): boolean
}

/** Maximum length of the received signature, in characters. A longer one is not searched. */
export const MAX_SIGNATURE: number = 128 * 1024

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
    for (const [digest, mistakes] of readPrimary(request, encoding))
      add(digest, { isPrimary: true, mistakes })
  const isCut = sizes.size === 0 // or not a signature at all
  const { otherHeaders, isComplete, digests } = readOtherClaims(request, encoding)
  for (const [digest, mistakes] of digests) add(digest, { isPrimary: false, mistakes })

  const text = readCut(request)
  const describeNumber = readNumber(text)
  const isPart = readPart(text)
  return {
    isEmpty: claims.size === 0 && !/^[\w+/-]{11,}=*$/.test(text),
    otherHeaders,
    isComplete,
    encoding,
    find(digest) {
      const claim = claims.get(digest)
      if (claim || text === '') return claim
      const notation = describeNumber(digest)
      if (notation) {
        const evidence = `The received value is the signature ${notation}.`
        return { isPrimary: true, mistakes: [{ cause: 'signature_encoding', evidence }] }
      }
      return isPart(digest) ? { isPrimary: true, mistakes: [TRUNCATED] } : undefined
    },
    canFind: (size) => sizes.has(size) || (isCut && text !== ''),
  }
}

const TRUNCATED: Finding = {
  cause: 'signature_truncated',
  evidence: 'The received value is only a part of the signature.',
}

/** Returns the text that may be a part of a signature, without a prefix and a cut escape sequence. */
const readCut = ({ decoded }: ReceivedRequest): string => decoded.replace(/%.?$/, '').replace(LABEL, '')

/** Yields the digests in the value that the receiver reads, with what keeps the receiver from reading them. */
function* readPrimary(
  { value, decoded }: ReceivedRequest,
  encoding: SignatureEncoding,
): Generator<[Uint8Array, readonly Finding[]]> {
  const whole = decodeSignature(value)
  if (typeof whole !== 'string') yield [whole, notationMistakes(value, whole, encoding)]
  for (const [decodeAgain, found] of REPAIRS) {
    for (const text of decodeAgain(value, decoded)) {
      const digest = decodeSignature(text)
      if (typeof digest !== 'string') yield [digest, [found, ...notationMistakes(text, digest, encoding)]]
    }
  }
  for (const text of new Set([decoded, value]))
    for (const digest of digestsIn(text)) yield [digest, notationMistakes(text, digest, encoding)]
}

/** Ways to repair the value: each row returns texts that the receiver can read. */
const REPAIRS: readonly [repair: (value: string, decoded: string) => string[], found: Finding][] = [
  [
    (value) =>
      // `v1,<signature>` is one value.
      /,\s*\S/.test(value) && !/^v\d/.test(value) ? value.split(',', 100).map((part) => part.trim()) : [],
    {
      cause: 'signature_doubled',
      evidence: 'The header has several values, and one of them is the signature.',
    },
  ],
  [
    (_, decoded) => (decoded.includes(' ') ? [decoded.replaceAll(' ', '+')] : []),
    {
      cause: 'signature_percent_encoded',
      evidence: 'The value is the signature after each space in it is replaced by a plus sign.',
    },
  ],
  [
    (_, decoded) => [percentDecode(decoded), percentDecode(percentDecode(decoded))],
    {
      cause: 'signature_percent_encoded',
      evidence: 'The value is the signature after percent-decoding it more than once.',
    },
  ],
]

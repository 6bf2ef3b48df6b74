import { type Body, concat, toBytes, utf8 } from '../shared/bytes.ts'
import { bodiesWith, cheapBodies, compressedBodies, expensiveBodies, writtenBodies } from './bodies.ts'
import type { Cause } from './causes.ts'
import type { Claims } from './claims.ts'
import { ALGORITHMS, type Algorithm, createSign, type Sign } from './digests.ts'
import { hashedAndJoinedKeys, likelyKeys, rareKeys } from './keys.ts'
import type { ReceivedRequest } from './request.ts'
import { formTexts, memberTexts, signedTexts } from './signed-texts.ts'
import type { BytesOrText, Finding, Hypothesis } from './types.ts'
import type { Work } from './work.ts'

/** A way in which the sender may have computed the signature. */
interface Candidate {
  message: Uint8Array
  /** Size of the key in bytes or UTF-16 units, because a long key takes as long as a long message. */
  keySize: number
  /** Returns the signature in lower-case hex, or undefined if the platform cannot compute it. */
  digest(): string | undefined | Promise<string | undefined>
  /** What the sender or the receiver did wrong: none, one or two mistakes. */
  mistakes: readonly Finding[]
  /** True if anyone can compute it. It then explains only the value of the signature header. */
  isKeyless?: boolean | undefined
  /** Size of the digest in bytes. Undefined if it may have been truncated. */
  size?: number | undefined
}

/** A body that the sender may have signed, with what is wrong with it. */
interface BodyPart {
  value: BytesOrText
  mistakes: readonly Finding[]
}

/** A key that the sender may have used, with what is wrong with it. */
interface KeyPart extends BodyPart {
  sign: Sign
}

/**
 * Computes the signature in every way in which the sender may have computed it, until one of them is in the request:
 * first with one mistake, then with two.
 */
export async function search(
  request: ReceivedRequest,
  claims: Claims,
  work: Work,
): Promise<readonly Finding[] | undefined> {
  if (claims.isEmpty) return undefined
  let elsewhere: readonly Finding[] | undefined
  for (const [perByte, size, candidates] of STAGES) {
    if (size === 'small' && !work.isComplete) continue
    for (const candidate of await candidates(request)) {
      if (candidate.size !== undefined && !claims.canFind(candidate.size)) continue
      if (!work.spend(candidate.message.length, candidate.keySize, perByte)) return elsewhere
      const digest = await candidate.digest()
      const claim = digest === undefined ? undefined : claims.find(digest)
      if (claim) {
        const found = orderMistakes(claim.mistakes, candidate.mistakes)
        if (claim.isPrimary && found.length === 0) return undefined // a right signature
        if (claim.isPrimary || found.every((finding) => claim.mistakes.includes(finding))) return found
        // Another header may contain a signature that is not meant for this receiver, so search on.
        if (!candidate.isKeyless) elsewhere ??= found
      }
      const paused = work.pause()
      if (paused) await paused
    }
  }
  return elsewhere
}

/**
 * Adds the mistake in where the signature is or how it is written. If the sender uses another scheme or algorithm, that
 * is the first cause, because it determines both: such as `t=…,v1=…` over a timestamp and the body.
 */
function orderMistakes(mistakes: readonly Finding[], others: readonly Finding[]): readonly Finding[] {
  const [mistake] = mistakes
  if (!mistake) return others
  // The signature in a form field covers only the payload field.
  if (mistake.cause === 'signature_in_form_field')
    return [...mistakes, ...others.filter(({ cause }) => cause !== 'body_form_field')]
  const isScheme =
    mistake.cause !== 'signature_in_body' &&
    others.some(({ cause }) => cause === 'signed_text' || cause === 'algorithm')
  return isScheme ? [...others, mistake] : [...mistakes, ...others]
}

/** Combines every body with every key and, if algorithms are given, with each of them in place of HMAC-SHA256. */
function* combine(
  bodies: Iterable<BodyPart>,
  keys: readonly KeyPart[],
  algorithms?: readonly Algorithm[],
): Generator<Candidate> {
  for (const body of bodies) {
    const message = toBytes(body.value as Body)
    for (const key of keys) {
      const isText = body.mistakes[0]?.cause === 'signed_text'
      const mistakes = isText ? [...body.mistakes, ...key.mistakes] : [...key.mistakes, ...body.mistakes]
      const keySize = key.value.length
      if (!algorithms) yield { message, keySize, digest: () => key.sign(message), mistakes }
      for (const { description, compute, isKeyless, isHash, size } of algorithms ?? []) {
        if (isKeyless && key.mistakes.length > 0) continue
        if (isHash && key.value.length === 0) continue // the same as a hash without a key
        const finding: Finding = { cause: 'algorithm', evidence: `The signature is ${description}.` }
        const digest = () => compute(key.value, message)
        yield { message, keySize, digest, mistakes: [finding, ...mistakes], isKeyless, size }
      }
    }
  }
}

const toPart = ([cause, value, description]: Hypothesis, preposition: 'with' | 'over'): BodyPart => ({
  value,
  mistakes: [{ cause, evidence: `The signature was computed ${preposition} ${description}.` }],
})

function* over(hypotheses: Iterable<Hypothesis>): Generator<BodyPart> {
  for (const hypothesis of hypotheses) yield toPart(hypothesis, 'over')
}

function toKey(hypothesis: Hypothesis): KeyPart {
  const part = toPart(hypothesis, 'with')
  return { ...part, sign: createSign(part.value) }
}

/** Joins a hypothesis about the body with a second one, which starts from the result of the first. */
function join([cause, , description]: Hypothesis, second: Hypothesis): BodyPart {
  const first = `The signature was computed over a body with two differences. First: ${description}.`
  const then = `Then, starting from that: ${second[2]}.`
  return {
    value: second[1],
    mistakes: [
      { cause, evidence: first },
      { cause: second[0], evidence: then },
    ],
  }
}

const keysOf = ({ keys }: ReceivedRequest): KeyPart[] =>
  keys.map((value) => ({ value, mistakes: [], sign: createSign(value) }))
const bodyOf = ({ body }: ReceivedRequest): BodyPart[] => [{ value: body, mistakes: [] }]
const likelyKeysOf = ({ keys }: ReceivedRequest): KeyPart[] =>
  keys.flatMap((key) => Array.from(likelyKeys(key), toKey))

/** Creates the keys one by one, because there may be hundreds. */
function* withRareKeys(bodies: readonly BodyPart[], { keys }: ReceivedRequest): Generator<Candidate> {
  for (const key of keys) for (const hypothesis of rareKeys(key)) yield* combine(bodies, [toKey(hypothesis)])
}

/** Limits for pairs of mistakes: notations of JSON, signed texts, and both together. */
const MAX_WRITTEN = 40
const MAX_SIGNED_TEXTS = 30
const MAX_WRITERS = 13
const MAX_OTHER_TEXTS = 6

function* textsOf(given: ReceivedRequest, maxTexts?: number): Generator<BodyPart> {
  yield* over(signedTexts(given, maxTexts))
  yield* over(memberTexts(given.body))
  yield* over(formTexts(given.body))
}

const likelyTexts = (given: ReceivedRequest): Iterable<BodyPart> => textsOf(given, MAX_SIGNED_TEXTS)

/** `echo` writes a line feed after the body. */
const echoed = ({ body }: ReceivedRequest): BodyPart[] => [
  toPart(['body_trailing_newline', concat([body, utf8('\n')]), 'the body followed by a line feed'], 'over'),
]

function* likelyBodies({ body }: ReceivedRequest): Generator<BodyPart> {
  yield* over(cheapBodies(body))
  yield* over(writtenBodies(body, MAX_WRITTEN))
  yield* over(expensiveBodies(body))
}

/**
 * Two mistakes in the body that often occur together. Other pairs could undo each other, and so explain a body that was
 * cut or extended.
 */
type BodyPairs = readonly (readonly [first: Cause, second: readonly Cause[]])[]

const CHEAP_PAIRS: BodyPairs = [
  ['body_line_endings', ['body_trailing_newline', 'body_bom']],
  ['body_bom', ['body_trailing_newline', 'body_line_endings']],
  ['body_charset', ['body_trailing_newline']],
  ['body_form_decoded', ['body_trailing_newline']],
]
const WRITTEN_PAIRS: BodyPairs = [
  ['body_form_field', ['body_reserialized']],
  ['body_reserialized', ['body_bom']],
  ['body_bom', ['body_reserialized']],
  ['body_charset', ['body_reserialized']],
]

function* pairsOf({ body }: ReceivedRequest, pairs: BodyPairs): Generator<BodyPart> {
  for (const [cause, causes] of pairs) {
    for (const first of bodiesWith(body, [cause], MAX_WRITTEN)) {
      const changed = toBytes(first[1] as Body)
      for (const second of bodiesWith(changed, causes, MAX_WRITTEN)) yield join(first, second)
    }
  }
}

/** Yields signed texts of other schemes over another body. */
function* otherTexts(given: ReceivedRequest): Generator<BodyPart> {
  for (const bodies of [cheapBodies(given.body), writtenBodies(given.body, MAX_WRITERS)]) {
    for (const first of bodies) {
      const body = toBytes(first[1] as Body)
      for (const second of signedTexts({ ...given, body }, MAX_OTHER_TEXTS)) yield join(first, second)
    }
  }
}

/** The algorithms that senders confuse most often, also tested together with another mistake. */
const COMMON_ALGORITHMS = ALGORITHMS.slice(0, 4)
const RARE_ALGORITHMS = ALGORITHMS.slice(4)

/**
 * Groups of candidates, each created only if no earlier group contains the signature: the nanoseconds that making a
 * byte of a message takes in addition to hashing it, for the limit on the work; whether the group is tested for bodies
 * of any size; and the candidates.
 */
type Stage = readonly [
  perByte: number,
  size: 'any' | 'small',
  candidates: (request: ReceivedRequest) => Iterable<Candidate> | Promise<Iterable<Candidate>>,
]

/** One mistake comes before two, and likely ones first. */
const STAGES: readonly Stage[] = [
  [0, 'any', (given) => combine(bodyOf(given), keysOf(given))],
  [1, 'any', (given) => combine(over(cheapBodies(given.body)), keysOf(given))],
  [0, 'any', (given) => combine(bodyOf(given), likelyKeysOf(given))],
  [1, 'any', (given) => combine(bodyOf(given), keysOf(given), COMMON_ALGORITHMS)],
  [1, 'any', (given) => combine(textsOf(given), keysOf(given))],
  [0, 'any', async (given) => combine(bodyOf(given), (await hashedAndJoinedKeys(given.keys)).map(toKey))],
  [3, 'small', (given) => combine(over(compressedBodies(given.body)), keysOf(given))],
  [3, 'small', (given) => combine(over(writtenBodies(given.body)), keysOf(given))],
  [0, 'any', (given) => withRareKeys(bodyOf(given), given)],
  [3, 'small', (given) => combine(over(expensiveBodies(given.body)), keysOf(given))],
  [1, 'any', (given) => combine(bodyOf(given), keysOf(given), RARE_ALGORITHMS)],
  // Two mistakes.
  [0, 'any', (given) => combine(over(cheapBodies(given.body)), likelyKeysOf(given))],
  [0, 'any', (given) => combine(likelyTexts(given), likelyKeysOf(given))],
  [1, 'any', (given) => combine(likelyTexts(given), keysOf(given), COMMON_ALGORITHMS)],
  [1, 'any', (given) => combine(bodyOf(given), likelyKeysOf(given), COMMON_ALGORITHMS)],
  [2, 'small', (given) => combine(pairsOf(given, CHEAP_PAIRS), keysOf(given))],
  [1, 'small', (given) => combine(otherTexts(given), keysOf(given))],
  [1, 'small', (given) => combine(likelyBodies(given), likelyKeysOf(given))],
  [0, 'any', (given) => withRareKeys(echoed(given), given)],
  [1, 'any', (given) => combine(echoed(given), keysOf(given), RARE_ALGORITHMS)],
  [3, 'small', (given) => combine(likelyBodies(given), keysOf(given), COMMON_ALGORITHMS)],
  [3, 'small', (given) => combine(pairsOf(given, WRITTEN_PAIRS), keysOf(given))],
]

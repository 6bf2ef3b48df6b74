import { type Body, toBytes } from '../shared/bytes.ts'
import { bodiesWith, cheapBodies, compressedBodies, expensiveBodies, writtenBodies } from './bodies.ts'
import type { Cause } from './causes.ts'
import type { Claims } from './claims.ts'
import { ALGORITHMS, type Algorithm, createSign, hashedBodies, type Sign } from './digests.ts'
import { hashedAndJoinedKeys, likelyKeys, rareKeys } from './keys.ts'
import type { ReceivedRequest } from './request.ts'
import { memberTexts, signedTexts } from './signed-texts.ts'
import { added } from './transforms.ts'
import { type BytesOrText, type Finding, found, type Hypothesis } from './types.ts'
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
  algorithm?: Algorithm | undefined
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
  for (const [perByte, size, bodies, keys, algorithms] of STAGES) {
    if (size === 'small' && !work.isComplete) continue
    for (const candidate of combine(await bodies(request), await keys(request), algorithms)) {
      const { message, keySize, mistakes, algorithm } = candidate
      if (algorithm?.size !== undefined && !claims.canFind(algorithm.size)) continue
      if (!work.spend(message.length, keySize, perByte)) return elsewhere
      const digest = await candidate.digest()
      const claim = digest === undefined ? undefined : claims.find(digest)
      if (claim) {
        const causes = orderMistakes(claim.mistakes, mistakes)
        if (claim.isPrimary && causes.length === 0) return undefined // a right signature
        if (claim.isPrimary || causes.every((finding) => claim.mistakes.includes(finding))) return causes
        // Another header may contain a signature that is not meant for this receiver, so search on. A signature that
        // anyone can compute explains only the value of the signature header.
        if (!algorithm?.isKeyless) elsewhere ??= causes
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

/** A body that the sender may have signed, with what is wrong with it. */
interface BodyPart {
  value: BytesOrText
  mistakes: readonly Finding[]
}

/** A key that the sender may have used, with what is wrong with it. */
interface KeyPart extends BodyPart {
  sign: Sign
}

/** Combines every body with every key and, if algorithms are given, with each of them in place of HMAC-SHA256. */
function* combine(
  bodies: Iterable<BodyPart>,
  keys: Iterable<KeyPart>,
  algorithms?: readonly Algorithm[],
): Generator<Candidate> {
  for (const body of bodies) {
    const message = toBytes(body.value as Body)
    for (const key of keys) {
      const isText = body.mistakes[0]?.cause === 'signed_text'
      const mistakes = isText ? [...body.mistakes, ...key.mistakes] : [...key.mistakes, ...body.mistakes]
      const keySize = key.value.length
      if (!algorithms) yield { message, keySize, digest: () => key.sign(message), mistakes }
      for (const algorithm of algorithms ?? []) {
        if (algorithm.isKeyless && key.mistakes.length > 0) continue
        if (algorithm.isHash && key.value.length === 0) continue // the same as a hash without a key
        const mistake = found('algorithm', `The signature is ${algorithm.description}.`)
        const digest = () => algorithm.compute(key.value, message)
        yield { message, keySize, digest, mistakes: [mistake, ...mistakes], algorithm }
      }
    }
  }
}

/** Yields what the sender may have done to the body of a request before it signed it. */
type Step = (request: ReceivedRequest) => Iterable<Hypothesis>

const cheap: Step = ({ body }) => cheapBodies(body)
const expensive: Step = ({ body }) => expensiveBodies(body)
const compressed: Step = ({ body }) => compressedBodies(body)
const written =
  (maxTexts?: number): Step =>
  ({ body }) =>
    writtenBodies(body, maxTexts)
const only =
  (...causes: Cause[]): Step =>
  ({ body }) =>
    bodiesWith(body, ...causes)
const texts = (maxTexts?: number): Step =>
  function* (request) {
    yield* signedTexts(request, maxTexts)
    yield* memberTexts(request.body)
  }

/** `echo` writes a line feed after the body. */
const echo: Step = ({ body }) => [
  ['body_trailing_newline', added(body, '', '\n')[0] as Uint8Array, 'the body with a line feed after it'],
]

type Bodies = (request: ReceivedRequest) => Iterable<BodyPart> | Promise<Iterable<BodyPart>>

const received: Bodies = ({ body }) => [{ value: body, mistakes: [] }]

const over = (...steps: Step[]) =>
  function* (request: ReceivedRequest): Generator<BodyPart> {
    for (const step of steps)
      for (const [cause, value, description] of step(request))
        yield { value, mistakes: [found(cause, `The signature was computed over ${description}.`)] }
  }

const digests: Bodies = async (request) => {
  const hypotheses = await hashedBodies(request.body)
  return over(() => hypotheses)(request)
}

/**
 * Yields the results of two steps; the second step starts from the result of the first. Only pairs that often occur
 * together are tested: others could undo each other, and so explain a body that was cut or extended.
 */
const pairs = (...steps: (readonly [first: Step, second: Step])[]): Bodies =>
  function* (request) {
    for (const [first, second] of steps)
      for (const [cause, value, description] of first(request)) {
        const evidence = `The signature was computed over a body with two differences. First: ${description}.`
        const mistake = found(cause, evidence)
        for (const [then, last, what] of second({ ...request, body: toBytes(value as Body) }))
          yield { value: last, mistakes: [mistake, found(then, `Then, starting from that: ${what}.`)] }
      }
  }

type Keys = (request: ReceivedRequest) => Iterable<KeyPart> | Promise<Iterable<KeyPart>>

const toKey = ([cause, value, description]: Hypothesis): KeyPart => ({
  value,
  mistakes: [found(cause, `The signature was computed with ${description}.`)],
  sign: createSign(value),
})

const given: Keys = ({ keys }) => keys.map((value) => ({ value, mistakes: [], sign: createSign(value) }))
const likely: Keys = ({ keys }) => keys.flatMap((key) => likelyKeys(key).map(toKey))
const hashed: Keys = async ({ keys }) => (await hashedAndJoinedKeys(keys)).map(toKey)

/** Tests each key before the next is changed. A generator can be combined with only one body. */
const rare: Keys = function* ({ keys }) {
  for (const key of keys) for (const hypothesis of rareKeys(key)) yield toKey(hypothesis)
}

/** The algorithms that senders confuse most often, also tested together with another mistake. */
const COMMON_ALGORITHMS = ALGORITHMS.slice(0, 4)
const RARE_ALGORITHMS = ALGORITHMS.slice(4)

/** Bodies for pairs of mistakes. Their numbers have lower limits, because pairs multiply them. */
const likelyWritten = written(40)
const likelyTexts = over(texts(30))
const likelyBodies = over(cheap, likelyWritten, expensive)
const CHEAP_PAIRS = pairs(
  [only('body_line_endings'), only('body_trailing_newline', 'body_bom')],
  [only('body_bom'), only('body_trailing_newline', 'body_line_endings')],
  [only('body_charset', 'body_form_decoded'), only('body_trailing_newline')],
)
const TEXT_PAIRS = pairs(
  [cheap, (request) => signedTexts(request, 6)],
  [written(13), (request) => signedTexts(request, 6)],
)
const WRITTEN_PAIRS = pairs(
  [only('body_form_field'), likelyWritten],
  [likelyWritten, only('body_bom')],
  [only('body_bom', 'body_charset'), likelyWritten],
)

/**
 * Groups of candidates, each created only if no earlier group contains the signature: the nanoseconds that making a
 * byte of a message takes in addition to hashing it, for the limit on the work; whether the group is tested for bodies
 * of any size; and what is combined.
 */
type Stage = readonly [
  perByte: number,
  size: 'any' | 'small',
  bodies: Bodies,
  keys: Keys,
  algorithms?: readonly Algorithm[],
]

/** One mistake comes before two, and likely ones first. */
const STAGES: readonly Stage[] = [
  [0, 'any', received, given],
  [1, 'any', over(cheap), given],
  [0, 'any', received, likely],
  [1, 'any', received, given, COMMON_ALGORITHMS],
  [1, 'any', over(texts()), given],
  [0, 'any', received, hashed],
  [3, 'small', over(compressed), given],
  [3, 'small', over(written()), given],
  [0, 'any', received, rare],
  [3, 'small', over(expensive), given],
  [1, 'any', received, given, RARE_ALGORITHMS],
  [0, 'any', digests, given],
  // Two mistakes.
  [0, 'any', over(cheap), likely],
  [0, 'any', likelyTexts, likely],
  [1, 'any', likelyTexts, given, COMMON_ALGORITHMS],
  [1, 'any', received, likely, COMMON_ALGORITHMS],
  [2, 'small', CHEAP_PAIRS, given],
  [1, 'small', TEXT_PAIRS, given],
  [1, 'small', likelyBodies, likely],
  [0, 'any', over(echo), rare],
  [1, 'any', over(echo), given, RARE_ALGORITHMS],
  [3, 'small', likelyBodies, given, COMMON_ALGORITHMS],
  [3, 'small', WRITTEN_PAIRS, given],
]

import { type Body, concat, toBytes, utf8 } from '../shared/bytes.ts'
import { ALGORITHMS } from './algorithms.ts'
import { bodiesWith, cheapBodies, compressedBodies, expensiveBodies, writtenBodies } from './bodies/bodies.ts'
import {
  type BodyPart,
  type Candidate,
  combine,
  join,
  type KeyPart,
  toBodies,
  toBody,
  toKey,
  toOtherKey,
} from './candidates.ts'
import type { Cause } from './causes.ts'
import { formTexts } from './form-texts.ts'
import { hashesAndLists } from './keys/hashed.ts'
import { commonKeyHypotheses, rareKeyHypotheses } from './keys.ts'
import { memberTexts } from './member-texts.ts'
import type { ReceivedRequest } from './request.ts'
import { signedTexts } from './signed-texts.ts'
import type { Hypothesis } from './types.ts'

/** A group of candidates, which is created only if no earlier group contains the signature. */
export interface Stage {
  /** Nanoseconds that making a byte of a message takes, in addition to hashing it. It limits the work. */
  perByte: number
  /** True if the stage is too expensive for large bodies. */
  isExpensive?: boolean
  candidates(request: ReceivedRequest): Iterable<Candidate> | Promise<Iterable<Candidate>>
}

/** The algorithms that senders confuse most often, also tested together with another mistake. */
const COMMON_ALGORITHMS = ALGORITHMS.slice(0, 4)
const RARE_ALGORITHMS = ALGORITHMS.slice(4)

/** Limits for pairs of mistakes: notations of JSON, signed texts, and both together. */
const MAX_WRITTEN = 40
const MAX_TEXTS = 30
const MAX_WRITERS = 13
const MAX_OTHER_TEXTS = 6

/** One mistake. Likely ones come first. */
const SINGLE: readonly Stage[] = [
  { perByte: 0, candidates: (given) => combine([bodyOf(given)], keysOf(given)) },
  { perByte: 1, candidates: (given) => combine(toBodies(cheapBodies(given.body)), keysOf(given)) },
  { perByte: 0, candidates: (given) => combine([bodyOf(given)], commonKeys(given)) },
  { perByte: 1, candidates: (given) => combine([bodyOf(given)], keysOf(given), COMMON_ALGORITHMS) },
  { perByte: 1, candidates: (given) => combine(toBodies(allTexts(given)), keysOf(given)) },
  {
    perByte: 0,
    candidates: async (given) => combine([bodyOf(given)], (await hashesAndLists(given.keys)).map(toOtherKey)),
  },
  {
    perByte: 3,
    isExpensive: true,
    candidates: async (given) => combine(toBodies(await compressedBodies(given.body)), keysOf(given)),
  },
  {
    perByte: 3,
    isExpensive: true,
    candidates: (given) => combine(toBodies(writtenBodies(given.body)), keysOf(given)),
  },
  { perByte: 0, candidates: (given) => withRareKeys(bodyOf(given), given) },
  {
    perByte: 3,
    isExpensive: true,
    candidates: (given) => combine(toBodies(expensiveBodies(given.body)), keysOf(given)),
  },
  { perByte: 1, candidates: (given) => combine([bodyOf(given)], keysOf(given), RARE_ALGORITHMS) },
]

/** Two mistakes. */
const PAIRS: readonly Stage[] = [
  { perByte: 0, candidates: (given) => combine(toBodies(cheapBodies(given.body)), commonKeys(given)) },
  { perByte: 0, candidates: (given) => combine(toBodies(likelyTexts(given)), commonKeys(given)) },
  {
    perByte: 1,
    candidates: (given) => combine(toBodies(likelyTexts(given)), keysOf(given), COMMON_ALGORITHMS),
  },
  { perByte: 1, candidates: (given) => combine([bodyOf(given)], commonKeys(given), COMMON_ALGORITHMS) },
  {
    perByte: 2,
    isExpensive: true,
    candidates: (given) => combine(twoBodies(given.body, CHEAP_PAIRS), keysOf(given)),
  },
  { perByte: 1, isExpensive: true, candidates: (given) => combine(otherTexts(given), keysOf(given)) },
  {
    perByte: 1,
    isExpensive: true,
    candidates: (given) => combine(toBodies(likelyBodies(given.body)), commonKeys(given)),
  },
  // `echo` writes a line feed after the body.
  { perByte: 0, candidates: (given) => withRareKeys(echoed(given.body), given) },
  { perByte: 1, candidates: (given) => combine([echoed(given.body)], keysOf(given), RARE_ALGORITHMS) },
  {
    perByte: 3,
    isExpensive: true,
    candidates: (given) => combine(toBodies(likelyBodies(given.body)), keysOf(given), COMMON_ALGORITHMS),
  },
  {
    perByte: 3,
    isExpensive: true,
    candidates: (given) => combine(twoBodies(given.body, WRITTEN_PAIRS), keysOf(given)),
  },
]

/** All candidates: one mistake comes before two. */
export const STAGES: readonly Stage[] = [...SINGLE, ...PAIRS]

const keysOf = ({ keys }: ReceivedRequest): KeyPart[] => keys.map((key) => toKey(key))
const bodyOf = ({ body }: ReceivedRequest): BodyPart => ({ value: body, mistakes: [] })

const commonKeys = ({ keys }: ReceivedRequest): KeyPart[] =>
  keys.flatMap((key) => Array.from(commonKeyHypotheses(key), toOtherKey))

/** Creates the keys one by one, because there may be hundreds. */
function* withRareKeys(body: BodyPart, { keys }: ReceivedRequest): Generator<Candidate> {
  for (const key of keys)
    for (const hypothesis of rareKeyHypotheses(key)) yield* combine([body], [toOtherKey(hypothesis)])
}

function* allTexts(given: ReceivedRequest, maxTexts?: number): Generator<Hypothesis> {
  yield* signedTexts(given, maxTexts)
  yield* memberTexts(given.body)
  yield* formTexts(given.body)
}

const likelyTexts = (given: ReceivedRequest): Iterable<Hypothesis> => allTexts(given, MAX_TEXTS)

const echoed = (body: Uint8Array): BodyPart =>
  toBody(['body_trailing_newline', concat([body, utf8('\n')]), 'the body followed by a line feed'])

function* likelyBodies(body: Uint8Array): Generator<Hypothesis> {
  yield* cheapBodies(body)
  yield* writtenBodies(body, MAX_WRITTEN)
  yield* expensiveBodies(body)
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

/** Yields bodies with two of these mistakes. */
function* twoBodies(body: Uint8Array, pairs: BodyPairs): Generator<BodyPart> {
  for (const [cause, causes] of pairs) {
    for (const first of bodiesWith(body, [cause], MAX_WRITTEN)) {
      const changed = toBytes(first[1] as Body)
      for (const second of bodiesWith(changed, causes, MAX_WRITTEN)) yield join(first, second)
    }
  }
}

function* firstBodies(body: Uint8Array): Generator<Hypothesis> {
  yield* cheapBodies(body)
  yield* writtenBodies(body, MAX_WRITERS)
}

/** Yields signed texts of other schemes over another body. */
function* otherTexts(given: ReceivedRequest): Generator<BodyPart> {
  for (const first of firstBodies(given.body)) {
    const body = toBytes(first[1] as Body)
    for (const second of signedTexts({ ...given, body }, MAX_OTHER_TEXTS)) yield join(first, second)
  }
}

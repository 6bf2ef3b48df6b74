import { type Body, toBytes } from '../shared/bytes.ts'
import type { Algorithm } from './algorithms.ts'
import { createSign, type Sign } from './digests.ts'
import type { BytesOrText, Finding, Hypothesis } from './types.ts'

/** A way in which the sender may have computed the signature. */
export interface Candidate {
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
export interface BodyPart {
  value: BytesOrText
  mistakes: readonly Finding[]
}

/** A key that the sender may have used, with what is wrong with it. */
export interface KeyPart extends BodyPart {
  sign: Sign
}

/** Combines every body with every key and, if algorithms are given, with each of them in place of HMAC-SHA256. */
export function* combine(
  bodies: Iterable<BodyPart>,
  keys: readonly KeyPart[],
  algorithms?: readonly Algorithm[],
): Generator<Candidate> {
  for (const body of bodies) {
    const message = toBytes(body.value as Body)
    for (const key of keys) {
      const mistakes =
        body.mistakes[0]?.cause === 'signed_text'
          ? [...body.mistakes, ...key.mistakes]
          : [...key.mistakes, ...body.mistakes]
      const keySize = key.value.length
      if (!algorithms) yield { message, keySize, digest: () => key.sign(message), mistakes }
      for (const { description, compute, isKeyless, isHash, size } of algorithms ?? []) {
        if (isKeyless && key.mistakes.length > 0) continue
        if (isHash && key.value.length === 0) continue // the same as a hash without a key
        const evidence = `The signature is ${description}.`
        yield {
          message,
          keySize,
          digest: () => compute(key.value, message),
          mistakes: [{ cause: 'algorithm', evidence }, ...mistakes],
          isKeyless,
          size,
        }
      }
    }
  }
}

export const toKey = (value: BytesOrText, mistakes: readonly Finding[] = []): KeyPart => ({
  value,
  mistakes,
  sign: createSign(value),
})

export const toOtherKey = (hypothesis: Hypothesis): KeyPart => {
  const { value, mistakes } = toPart(hypothesis, 'with')
  return toKey(value, mistakes)
}

export const toBody = (hypothesis: Hypothesis): BodyPart => toPart(hypothesis, 'over')

export function* toBodies(hypotheses: Iterable<Hypothesis>): Generator<BodyPart> {
  for (const hypothesis of hypotheses) yield toBody(hypothesis)
}

const toPart = ([cause, value, description]: Hypothesis, preposition: 'with' | 'over'): BodyPart => ({
  value,
  mistakes: [{ cause, evidence: `The signature was computed ${preposition} ${description}.` }],
})

/** Joins a hypothesis about the body with a second one, which starts from the result of the first. */
export const join = ([cause, , description]: Hypothesis, second: Hypothesis): BodyPart => ({
  value: second[1],
  mistakes: [
    {
      cause,
      evidence: `The signature was computed over a body with two differences. First: ${description}.`,
    },
    { cause: second[0], evidence: `Then, starting from that: ${second[2]}.` },
  ],
})

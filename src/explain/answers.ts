import type { SignatureEncoding } from '../signature/signature.ts'
import type { RefusalCode } from './causes/refusal.ts'
import type { Question } from './question.ts'
import type { Answer } from './receiver.ts'
import type { Refused } from './refusals/refused.ts'
import { explainCode, explainRefusal, neededFor } from './refusals.ts'
import { isComplete } from './request.ts'
import type { Finding } from './types.ts'

/** A question with what was read from it. */
export interface Context {
  question: Question
  code: RefusalCode | undefined
  /** Headers by lower-case name. */
  headers: ReadonlyMap<string, string>
  /** Name of the signature header or form field, in lower case. */
  field: string
  /** The encodings of a signature that the receiver accepts. */
  encoding: SignatureEncoding
  now: number
  /** Query parameter of handshakes, if the profile has them. */
  parameter: string | undefined
}

/** Builds the input of {@link explainRefusal}. */
export const toRefused = (
  { question, headers, field, now, parameter }: Context,
  { refusal, limit }: Pick<Answer, 'refusal' | 'limit'>,
  body: Uint8Array,
  keys: readonly Uint8Array[] = [],
): Refused => ({
  message: refusal?.message ?? '',
  cause: refusal?.cause,
  headers,
  body,
  keys,
  method: question.method ?? 'POST',
  url: question.url ?? '/',
  limit,
  maxAge: question.maxAge,
  now,
  field,
  parameter,
})

/** What is known about the sender's proof: the signature, or the key in a header. */
export interface Proof {
  /** The receiver's keys, newest first. */
  keys: readonly Uint8Array[]
  /** Explains a request that the receiver accepts. */
  accept(answer: Answer): Finding | Promise<Finding>
  /** Says in a sentence whether the proof is valid, for codes that do not depend on it. */
  describe(): string | Promise<string>
}

/** Codes of requests whose body is not known completely, so that the signature cannot be checked. */
const CUT_OFF: readonly string[] = ['body_timeout', 'body_aborted']

/** Explains what a receiver does with a request whose signature is valid or was not checked. */
export async function explainAnswer(
  context: Context & { body: Uint8Array },
  answer: Answer,
  proof: Proof,
): Promise<Finding> {
  const { question, headers, body, code } = context
  const { refusal } = answer
  if (code && neededFor(code) === 'receiver') {
    const { cause, evidence } = code.startsWith('key_') ? withKey(code) : explainCode(code)
    return { cause, evidence: `${evidence}${CUT_OFF.includes(code) ? '' : ` ${await proof.describe()}`}` }
  }
  if (refusal && isCertain(refusal.code, headers, code))
    return explainRefusal(refusal.code as never, toRefused(context, answer, body, proof.keys))
  const option = code && missingOption(code, question)
  if (code && option) {
    const { cause, evidence } = explainCode(code)
    return {
      cause,
      evidence: `${evidence} The option ${option} was not given, so the reason is not known here.`,
    }
  }
  const accepted = await proof.accept(answer)
  if (!code) return accepted
  const evidence = `${accepted.evidence} The receiver that reported ${code} had other keys or options, or got another request.`
  return { ...accepted, evidence }
}

/** Explains a code for a missing key, although the options have a key. */
export const withKey = (code: RefusalCode): Finding => ({
  cause: code,
  evidence: `The receiver reported ${code}, but the options give a key for this request here.`,
})

/** Returns the option that the receiver with this code had, if the caller does not give it. */
function missingOption(code: string, { schema, maxAge }: Question): string | undefined {
  if (code === 'payload_invalid' && !schema) return 'schema'
  return code === 'delivery_stale' && maxAge === undefined ? 'maxAge' : undefined
}

/**
 * With incomplete headers, a refusal of the content type or the payload proves nothing: the header may be missing only
 * from the question.
 */
const isCertain = (
  refused: string,
  headers: ReadonlyMap<string, string>,
  code: string | undefined,
): boolean => isComplete(headers) || refused === code || !/^content_type_|^payload_/.test(refused)

import { toHex } from '../signature/bytes.ts'
import { decodeSignature, type SignatureEncoding } from '../signature/encoding.ts'
import type { RefusalCode } from './causes/refusal.ts'
import { hmacSha256 } from './digests.ts'
import type { Question } from './question.ts'
import type { Answer } from './receiver.ts'
import type { Refused } from './refusals/refused.ts'
import { explainCode, explainRefusal, neededFor } from './refusals.ts'
import { isComplete, type ReceivedRequest } from './request.ts'
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

/** Explains what a receiver does with a request whose signature is valid or was not checked. */
export async function explainAnswer(
  context: Context & { body: Uint8Array },
  answer: Answer,
  request: ReceivedRequest,
  isUnsigned: boolean,
): Promise<Finding> {
  const { question, headers, body, code } = context
  const { refusal } = answer
  if (code && neededFor(code) === 'receiver') {
    const { cause, evidence } = code.startsWith('key_') ? withKey(code) : explainCode(code)
    return { cause, evidence: `${evidence}${await describeSignature(request, code, context.encoding)}` }
  }
  if (refusal && isCertain(refusal.code, headers, code))
    return explainRefusal(refusal.code as never, toRefused(context, answer, body, request.keys))
  const option = code && missingOption(code, question)
  if (code && option) {
    const { cause, evidence } = explainCode(code)
    return {
      cause,
      evidence: `${evidence} The option ${option} was not given, so the reason is not known here.`,
    }
  }
  const accepted = await explainAccepted(answer, request, isUnsigned)
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

async function explainAccepted(
  { isHandshake }: Answer,
  { keys, body, value }: ReceivedRequest,
  isUnsigned: boolean,
): Promise<Finding> {
  if (isHandshake) return { cause: 'ok', evidence: 'The request is a valid handshake.' }
  if (isUnsigned)
    return {
      cause: 'ok',
      evidence: 'The request has no signature, and this receiver accepts unsigned requests.',
    }
  const digest = toHex(decodeSignature(value) as Uint8Array)
  for (const [index, key] of keys.entries()) {
    if ((await hmacSha256(key, body)) !== digest) continue
    if (index === 0) break
    const evidence = `The signature was computed with key ${index} of the list, in which 0 is the newest.`
    return { cause: 'key_previous', evidence }
  }
  return { cause: 'ok', evidence: 'The signature was computed over this body with this key.' }
}

/** Codes of requests whose body is not known completely, so that the signature cannot be checked. */
const CUT_OFF: readonly string[] = ['body_timeout', 'body_aborted']

/** Says whether the signature is valid, for codes that do not depend on it. */
async function describeSignature(
  { keys, body, value }: ReceivedRequest,
  code: string,
  encoding: SignatureEncoding,
): Promise<string> {
  if (CUT_OFF.includes(code)) return ''
  const digest = decodeSignature(value, encoding)
  if (typeof digest === 'string') return ' The request has no valid signature.'
  for (const key of keys)
    if ((await hmacSha256(key, body)) === toHex(digest)) return ' The signature is valid.'
  return ' The signature does not match this body with this key.'
}

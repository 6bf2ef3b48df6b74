import { configInvalid } from '../errors.ts'
import { readProfile } from '../signature/profiles.ts'
import { DEFAULT_SIGNATURE_HEADER } from '../signature/signature-header.ts'
import { explainAnswer } from './answers.ts'
import { readClaims } from './claims.ts'
import { hmacSha256 } from './digests.ts'
import { explainHead } from './explain-head.ts'
import { explainSignature } from './explain-signature.ts'
import type { Question } from './question.ts'
import { askReceiver, type CreateReceiver, NO_KEY } from './receiver.ts'
import { isCode, neededFor } from './refusals.ts'
import { isComplete, readHeaders, readRequest } from './request.ts'
import { findEmptyKey, findKeys } from './request-keys.ts'
import type { Finding } from './types.ts'

/** Returns the cause, or several if several mistakes were made at once. */
export async function findCauses(
  question: Question,
  createReceiver: CreateReceiver,
): Promise<readonly Finding[]> {
  const { body, code, thorough = false, unsigned, profile: given } = question
  if (code !== undefined && !isCode(code)) throw configInvalid('code is not a code that a request can cause')
  const headers = readHeaders(question.headers)
  const profile = readProfile(given)
  const field = (
    question.signatureHeader ??
    profile.signatureHeader ??
    DEFAULT_SIGNATURE_HEADER
  ).toLowerCase()
  const encoding = question.encoding ?? profile.encoding ?? 'auto'
  const now = (question.clock ?? Date.now)()
  const context = { question, code, headers, field, encoding, now, parameter: profile.handshake?.parameter }
  if (!body) {
    const { finding } = code?.startsWith('key_') ? await findKeys(question, headers) : {}
    return [finding ?? (await explainHead(context, createReceiver))]
  }

  const found = await findKeys(question, headers)
  const isKeyless = unsigned === 'accept' && question.signatureKey === undefined
  // This check is first: if the sender's key is empty too, the signature would match.
  const emptyKey = found.finding || isKeyless ? undefined : findEmptyKey(found.keys)
  if (emptyKey) return [emptyKey]
  const keys = found.keys.length > 0 ? found.keys : [NO_KEY]
  const asked = withAssumedType(headers, code)
  const ask = (sent: ReadonlyMap<string, string>) =>
    askReceiver(createReceiver, { ...question, body, clock: () => now }, keys, sent)
  let answer = await ask(asked)
  const isUnsigned = unsigned === 'accept' && answer.refusal?.code === 'signature_missing'
  // Signs the request, so that this receiver checks the rest.
  if (isUnsigned)
    answer = await ask(new Map([...asked, [field, await hmacSha256(keys[0] as Uint8Array, body)]]))

  const isSignatureWrong = answer.refusal?.code.startsWith('signature_') === true
  const dependsOnKey = isSignatureWrong || answer.isHandshake
  if (found.finding && (dependsOnKey || !answer.refusal)) return [found.finding]
  if (isKeyless && isSignatureWrong) {
    const evidence = `The header or form field ${field} has a value, but this receiver has no key.`
    return [{ cause: 'key_unset', evidence }]
  }
  const request = readRequest(question, headers, body, field, keys)
  if (isSignatureWrong && !(code && neededFor(code) === 'receiver'))
    return explainSignature(request, readClaims(request, encoding), thorough)
  return [await explainAnswer({ ...context, headers: asked, body }, answer, request, isUnsigned)]
}

/**
 * If the caller gives only some of the headers, and the receiver could read the body, assumes JSON: services send it.
 */
function withAssumedType(
  headers: ReadonlyMap<string, string>,
  code: Question['code'],
): ReadonlyMap<string, string> {
  if (isComplete(headers) || !code || !/^payload_|^delivery_stale$/.test(code)) return headers
  return new Map([...headers, ['content-type', 'application/json']])
}

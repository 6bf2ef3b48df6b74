import { configInvalid } from '../errors.ts'
import { readProfile } from '../signature/profiles.ts'
import { DEFAULT_SIGNATURE_HEADER, encodeSignature, type SignatureEncoding } from '../signature/signature.ts'
import { explainAnswer } from './answers.ts'
import { readClaims } from './claims.ts'
import { hmacSha256 } from './digests.ts'
import { explainHead } from './explain-head.ts'
import { explainSignature } from './explain-signature.ts'
import type { Question } from './question.ts'
import { type Answer, askReceiver, type CreateReceiver } from './receiver.ts'
import { isCode, neededFor } from './refusals.ts'
import { isComplete, readHeaders, readRequest, withAssumedType } from './request.ts'
import {
  createDecoy,
  createKeySource,
  findEmptyKey,
  findRejectedKeys,
  findUnnamed,
  type KeySource,
} from './request-keys.ts'
import { explainSecret } from './secret.ts'
import { signatureProof } from './signature-proof.ts'
import type { Finding } from './types.ts'

const NO_BODY = new Uint8Array()
const NO_SIGNATURE = '0'.repeat(64)

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
  const keys = createKeySource(question)
  if (profile.secretHeader !== undefined)
    return [
      await explainSecret({ ...context, header: profile.secretHeader.toLowerCase() }, keys, createReceiver),
    ]
  const ask = (key: KeySource['signatureKey'], sent: ReadonlyMap<string, string>) =>
    askReceiver(createReceiver, { ...question, body: body ?? NO_BODY, clock: () => now }, key, sent)
  if (!body) {
    // With a signature, the receiver calls the key function before it needs the body.
    if (typeof keys.signatureKey === 'function' && code?.startsWith('key_'))
      await ask(keys.signatureKey, new Map([...headers, [field, NO_SIGNATURE]]))
    return [keys.finding ?? (await explainHead(context, createReceiver))]
  }

  // This check is first: if the sender's key is empty too, the signature would match.
  const emptyKey = findEmptyKey(keys)
  if (emptyKey) return [emptyKey]
  const asked = withAssumedType(headers, code)
  let answer = await ask(keys.signatureKey, asked)
  const isUnsigned = unsigned === 'accept' && answer.refusal?.code === 'signature_missing'
  const unnamed = isUnsigned ? await findUnnamed(keys, answer.head) : undefined
  if (unnamed) return [unnamed]
  if (isUnsigned)
    answer = await askSigned(body, encoding, (key, value) => ask([key], new Map([...asked, [field, value]])))

  const refused = answer.refusal?.code
  const isSignatureWrong = refused?.startsWith('signature_') === true
  if (keys.finding && refused?.startsWith('key_')) return [keys.finding]
  if (
    unsigned === 'accept' &&
    question.signatureKey === undefined &&
    (isSignatureWrong || refused === 'key_unknown')
  )
    return [explainUnset(field, question.method?.toUpperCase() === 'GET')]
  // Calls a key function that the receiver has not called only if the answer depends on the keys.
  const isDecided = refused !== undefined && !isSignatureWrong && (!code || code === refused)
  const known = isDecided ? keys.keys : await keys.read(answer.head)
  const request = readRequest(question, headers, body, field, known.length > 0 ? known : [createDecoy()])
  if (isSignatureWrong && !(code && neededFor(code) === 'receiver'))
    return explainSignature(request, readClaims(request, encoding), thorough)
  const proof = signatureProof(request, encoding, isUnsigned)
  const finding = await explainAnswer({ ...context, headers: asked, body }, answer, proof)
  const isAccepted = isComplete(headers) && (finding.cause === 'ok' || finding.cause === 'key_previous')
  return [(isAccepted && findRejectedKeys(question)) || finding]
}

/** Signs the request with a random key and asks a receiver that has this key, so that it checks the rest. */
async function askSigned(
  body: Uint8Array,
  encoding: SignatureEncoding,
  ask: (key: Uint8Array, value: string) => Promise<Answer>,
): Promise<Answer> {
  const key = createDecoy()
  const digest = await hmacSha256(key, body)
  return ask(key, encodeSignature(digest, encoding === 'base64' ? 'base64' : 'hex', ''))
}

function explainUnset(field: string, isHandshake: boolean): Finding {
  const evidence = isHandshake
    ? 'The request is a handshake, but this receiver has no key to answer it with.'
    : `The header or form field ${field} has a value, but this receiver has no key.`
  return { cause: 'key_unset', evidence }
}

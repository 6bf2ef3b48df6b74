import { configInvalid } from '../errors.ts'
import { readProfile } from '../signature/profiles.ts'
import {
  DEFAULT_SIGNATURE_HEADER,
  decodeSignature,
  encodeSignature,
  type SignatureEncoding,
} from '../signature/signature.ts'
import {
  type Answer,
  askReceiver,
  type Context,
  explainAnswer,
  explainHead,
  isOfReceiver,
  type Proof,
} from './answers.ts'
import { toHex } from './bytes.ts'
import { type Cause, CODE_CAUSES, FIXES, type RefusalCode } from './causes.ts'
import { readClaims } from './claims.ts'
import { hmacSha256 } from './digests.ts'
import {
  createDecoy,
  createKeySource,
  findEmptyKey,
  findRejectedKeys,
  findUnnamed,
  isComplete,
  type Question,
  type ReceivedRequest,
  readHeaders,
  readRequest,
  withAssumedType,
} from './request.ts'
import { explainSecret } from './secret.ts'
import type { Diagnosis, Finding } from './types.ts'
import { explainSignature } from './unmatched.ts'

const NO_SIGNATURE = '0'.repeat(64)

/**
 * Implements `explain`.
 *
 * @throws {WebhookError} `config_invalid` for an unknown code, an invalid option, or a key that is neither a string nor
 *   bytes
 */
export async function diagnose(question: Question): Promise<Diagnosis> {
  // The receiver checks the options too, but these two are used before.
  if (typeof (question.signatureHeader ?? '') !== 'string')
    throw configInvalid('signatureHeader must be a string')
  if (typeof (question.clock ?? Date.now) !== 'function') throw configInvalid('clock must be a function')
  const findings = await findCauses(question)
  const [cause, ...also] = [...new Set(findings.map((finding) => finding.cause))] as [Cause, ...Cause[]]
  return {
    ok: cause === 'ok' || cause === 'key_previous',
    cause,
    ...(also.length > 0 && { also }),
    evidence: findings.map(({ evidence }) => evidence).join(' '),
    fix: [cause, ...also].map((name) => FIXES[name]).join(' '),
  }
}

/** Returns the cause, or several if several mistakes were made at once. */
async function findCauses(question: Question): Promise<readonly Finding[]> {
  const { body, thorough = false, unsigned, profile: given, signatureKey } = question
  if (question.code !== undefined && !Object.hasOwn(CODE_CAUSES, question.code))
    throw configInvalid('code is not a code that a request can cause')
  const code = question.code as RefusalCode | undefined
  const headers = readHeaders(question.headers)
  const profile = readProfile(given)
  const header = question.signatureHeader ?? profile.signatureHeader ?? DEFAULT_SIGNATURE_HEADER
  const field = header.toLowerCase()
  const encoding = question.encoding ?? profile.encoding ?? 'auto'
  const now = (question.clock ?? Date.now)()
  const context: Context = {
    question,
    code,
    headers,
    field,
    encoding,
    now,
    parameter: profile.handshake?.parameter,
  }
  const keys = createKeySource(question)
  if (profile.secretHeader !== undefined)
    return [await explainSecret({ ...context, header: profile.secretHeader.toLowerCase() }, keys)]
  if (!body) {
    // With a signature, the receiver calls the key function before it needs the body.
    if (typeof keys.signatureKey === 'function' && code?.startsWith('key_'))
      await askReceiver(context, keys.signatureKey, new Map([...headers, [field, NO_SIGNATURE]]))
    return [keys.finding ?? (await explainHead(context))]
  }

  // This check is first: if the sender's key is empty too, the signature would match.
  const emptyKey = findEmptyKey(keys)
  if (emptyKey) return [emptyKey]
  const asked = withAssumedType(headers, code)
  let answer = await askReceiver(context, keys.signatureKey, asked)
  const isUnsigned = unsigned === 'accept' && answer.refusal?.code === 'signature_missing'
  const unnamed = isUnsigned ? await findUnnamed(keys, answer.head) : undefined
  if (unnamed) return [unnamed]
  if (isUnsigned) answer = await askSigned(context, body, asked)

  const refused = answer.refusal?.code
  const isSignatureWrong = refused?.startsWith('signature_') === true
  if (keys.finding && refused?.startsWith('key_')) return [keys.finding]
  if (unsigned === 'accept' && signatureKey === undefined && (isSignatureWrong || refused === 'key_unknown'))
    return [explainUnset(field, question.method?.toUpperCase() === 'GET')]
  // Calls a key function that the receiver has not called only if the answer depends on the keys.
  const isDecided = refused !== undefined && !isSignatureWrong && (!code || code === refused)
  const known = isDecided ? keys.keys : await keys.read(answer.head)
  const request = readRequest(question, headers, body, field, known.length > 0 ? known : [createDecoy()])
  if (isSignatureWrong && !isOfReceiver(code))
    return explainSignature(request, readClaims(request, encoding), thorough)
  const proof = signatureProof(request, encoding, isUnsigned)
  const finding = await explainAnswer({ ...context, headers: asked }, answer, proof)
  const isAccepted = isComplete(headers) && (finding.cause === 'ok' || finding.cause === 'key_previous')
  return [(isAccepted && findRejectedKeys(question)) || finding]
}

/** Signs the request with a random key and asks a receiver that has this key, so that it checks the rest. */
async function askSigned(
  context: Context,
  body: Uint8Array,
  headers: ReadonlyMap<string, string>,
): Promise<Answer> {
  const key = createDecoy()
  const encoding = context.encoding === 'base64' ? 'base64' : 'hex'
  const value = encodeSignature(await hmacSha256(key, body), encoding, '')
  return askReceiver(context, [key], new Map([...headers, [context.field, value]]))
}

function explainUnset(field: string, isHandshake: boolean): Finding {
  const evidence = isHandshake
    ? 'The request is a handshake, but this receiver has no key to answer it with.'
    : `The header or form field ${field} has a value, but this receiver has no key.`
  return { cause: 'key_unset', evidence }
}

/** @param isUnsigned whether the receiver accepts this request without a signature */
function signatureProof(
  { keys, body, value }: ReceivedRequest,
  encoding: SignatureEncoding,
  isUnsigned: boolean,
): Proof {
  const keyOf = async (digest: Uint8Array): Promise<number> => {
    for (const [index, key] of keys.entries())
      if ((await hmacSha256(key, body)) === toHex(digest)) return index
    return -1
  }
  return {
    keys,
    async accept({ isHandshake }) {
      if (isHandshake) return { cause: 'ok', evidence: 'The request is a valid handshake.' }
      if (isUnsigned) {
        const evidence = 'The request has no signature, and this receiver accepts unsigned requests.'
        return { cause: 'ok', evidence }
      }
      const index = await keyOf(decodeSignature(value) as Uint8Array)
      if (index <= 0)
        return { cause: 'ok', evidence: 'The signature was computed over this body with this key.' }
      const evidence = `The signature was computed with key ${index} of the list, in which 0 is the newest.`
      return { cause: 'key_previous', evidence }
    },
    async describe() {
      const digest = decodeSignature(value, encoding)
      if (typeof digest === 'string') return 'The request has no valid signature.'
      const isValid = (await keyOf(digest)) >= 0
      return isValid ? 'The signature is valid.' : 'The signature does not match this body with this key.'
    },
  }
}

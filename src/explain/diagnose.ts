import { configInvalid } from '../errors.ts'
import type { ReceiverOptions } from '../receiver/types.ts'
import { keyringPort } from '../signature/keyring.ts'
import { DEFAULT_SIGNATURE_HEADER, readProfile } from '../signature/profiles.ts'
import { decodeSignature, encodeSignature } from '../signature/signature.ts'
import { askReceiver, explainAnswer, explainHead, isOfReceiver, type Scheme } from './answers.ts'
import { type Cause, CODE_CAUSES, FIXES, type RefusalCode } from './causes.ts'
import { readClaims } from './claims.ts'
import { findSigner, hmacSha256 } from './digests.ts'
import {
  type Context,
  createDecoy,
  createKeySource,
  findEmptyKey,
  findRejectedKeys,
  isComplete,
  type ReadRequest,
  readHeaders,
  readRequest,
  withAssumedType,
} from './request.ts'
import { secretScheme } from './secret.ts'
import { type Diagnosis, type Finding, found } from './types.ts'
import { explainSignature } from './unmatched.ts'

/**
 * Implements `explain`.
 *
 * @throws {WebhookError} `config_invalid` for an unknown code, an invalid option, or a key that is neither a string nor
 *   bytes
 */
export async function diagnose(
  request: ReadRequest,
  given: Partial<ReceiverOptions>,
  isThorough: boolean,
): Promise<Diagnosis> {
  const port = keyringPort(given.signatureKey)
  await port?.renew()
  const options = port ? { ...given, signatureKey: port.keys() } : given
  if (typeof isThorough !== 'boolean') throw configInvalid('thorough must be true or false')
  // The receiver checks the options too, but these are used before.
  if (typeof (options.signatureHeader ?? '') !== 'string')
    throw configInvalid('signatureHeader must be a string')
  if (typeof (options.clock ?? Date.now) !== 'function') throw configInvalid('clock must be a function')
  if (request.code !== undefined && !Object.hasOwn(CODE_CAUSES, request.code))
    throw configInvalid('code is not a code that a request can cause')
  const findings = await findCauses(readContext(request, options, isThorough))
  const [cause, ...also] = [...new Set(findings.map((finding) => finding.cause))] as [Cause, ...Cause[]]
  return {
    ok: isAccepted(cause),
    cause,
    ...(also.length > 0 && { also }),
    evidence: findings.map(({ evidence }) => evidence).join(' '),
    fix: [cause, ...also].map((name) => FIXES[name]).join(' '),
  }
}

const isAccepted = (cause: Cause): boolean => cause === 'ok' || cause === 'key_previous'

function readContext(request: ReadRequest, options: Partial<ReceiverOptions>, isThorough: boolean): Context {
  const profile = readProfile(options.profile)
  const header = options.signatureHeader ?? profile.signatureHeader ?? DEFAULT_SIGNATURE_HEADER
  return {
    request,
    options,
    isThorough,
    code: request.code as RefusalCode | undefined,
    headers: readHeaders(request.headers),
    field: (profile.secretHeader ?? header).toLowerCase(),
    isSecret: profile.secretHeader !== undefined,
    encoding: options.encoding ?? profile.encoding ?? 'auto',
    now: (options.clock ?? Date.now)(),
    parameter: profile.handshake?.parameter,
  }
}

/** Returns the cause, or several if several mistakes were made at once. */
async function findCauses(context: Context): Promise<readonly Finding[]> {
  const { request, options, code, headers, field } = context
  const { body } = request
  const { unsigned, signatureKey } = options
  const keys = createKeySource(options, request.url)
  const scheme = context.isSecret ? secretScheme(context) : signatureScheme(context)
  const withProof = (given: ReadonlyMap<string, string>, value: string) => new Map([...given, [field, value]])
  if (!body) {
    // With a proof, the receiver calls the key function before it needs the body.
    if (typeof keys.signatureKey === 'function' && code?.startsWith('key_'))
      await askReceiver(
        context,
        keys.signatureKey,
        withProof(headers, headers.get(field) || scheme.placeholder),
      )
    return [keys.finding ?? (await scheme.explainCode(keys.keys)) ?? (await explainHead(context))]
  }

  // This check is first: if the sender's key is empty too, the signature would match.
  const emptyKey = findEmptyKey(keys)
  if (emptyKey) return [emptyKey]
  const asked = withAssumedType(headers, code)
  let answer = await askReceiver(context, keys.signatureKey, asked)
  const isUnsigned = unsigned === 'accept' && answer.refusal?.code === 'signature_missing'
  if (isUnsigned) {
    await keys.read(answer.head)
    if (!keys.isNamed && keys.finding) return [keys.finding]
  }
  if (isUnsigned || scheme.isHidden) {
    // Asks a receiver with a random key for which the proof is valid, so that it makes its other checks.
    const decoy = createDecoy()
    answer = await askReceiver(context, [decoy], withProof(asked, await scheme.prove(decoy, body)))
  }

  const refused = answer.refusal?.code
  const isMismatch =
    refused?.startsWith('signature_') === true || (scheme.isHidden && code?.startsWith('signature_') === true)
  if (keys.finding && refused?.startsWith('key_')) return [keys.finding]
  if (unsigned === 'accept' && signatureKey === undefined && (isMismatch || refused === 'key_unknown'))
    return [explainUnset(context)]
  // Calls a key function that the receiver has not called only if the answer depends on the keys.
  const isDecided = refused !== undefined && !isMismatch && (!code || code === refused)
  const known = isDecided ? keys.keys : await keys.read(answer.head)
  if (isMismatch && !isOfReceiver(code)) return scheme.explainMismatch(known)
  const finding = await explainAnswer(
    { ...context, headers: asked },
    { ...answer, isUnsigned },
    scheme,
    known,
  )
  return [(isComplete(headers) && isAccepted(finding.cause) && findRejectedKeys(options)) || finding]
}

function explainUnset({ request, field }: Context): Finding {
  return request.method?.toUpperCase() === 'GET'
    ? found('key_unset', 'The request is a handshake, but this receiver has no key to answer it with.')
    : found('key_unset', `The header or form field ${field} has a value, but this receiver has no key.`)
}

function signatureScheme(context: Context): Scheme {
  const { request, isThorough, encoding } = context
  const { body = new Uint8Array() } = request
  const read = (keys: readonly Uint8Array[]) =>
    readRequest(context, body, keys.length > 0 ? keys : [createDecoy()])
  const { value, body: signed } = read([])
  const digest = decodeSignature(value, encoding)
  const indexIn = (keys: readonly Uint8Array[]) =>
    typeof digest === 'string' ? -1 : findSigner(keys, signed, digest)
  return {
    placeholder: '0'.repeat(64),
    isHidden: false,
    prove: async (key) =>
      encodeSignature(await hmacSha256(key, body), encoding === 'base64' ? encoding : 'hex', ''),
    explainCode: async () => undefined,
    async explainMismatch(keys) {
      const received = read(keys)
      return explainSignature(received, readClaims(received, encoding), isThorough)
    },
    async accept(keys, { isHandshake, isUnsigned }) {
      if (isHandshake) return found('ok', 'The request is a valid handshake.')
      if (isUnsigned)
        return found('ok', 'The request has no signature, and this receiver accepts unsigned requests.')
      const index = await indexIn(keys)
      if (index <= 0) return found('ok', 'The signature was computed over this body with this key.')
      const key = `key ${index} of the list, in which 0 is the newest`
      return found('key_previous', `The signature was computed with ${key}.`)
    },
    async describe(keys) {
      if (typeof digest === 'string') return 'The request has no valid signature.'
      const isValid = (await indexIn(keys)) >= 0
      return isValid ? 'The signature is valid.' : 'The signature does not match this body with this key.'
    },
  }
}

import { fromBinary, utf8 } from '../shared/bytes.ts'
import { arcgis, service } from '../signature/profiles.ts'
import { decodeSignature, percentDecode, splitSignedForm } from '../signature/signature.ts'
import { askReceiver, type Context, explainAnswer, explainHead, type Proof } from './answers.ts'
import { toBinary, toHex, trim } from './bytes.ts'
import { isShown } from './claims.ts'
import { hashOf, hmacSha256 } from './digests.ts'
import { keyHypotheses } from './keys.ts'
import {
  createDecoy,
  findEmptyKey,
  findRejectedKeys,
  findUnnamed,
  type KeySource,
  withAssumedType,
} from './request.ts'
import type { BytesOrText, Finding } from './types.ts'

/** What a receiver, a capture and the inspector show in place of the key. */
const REDACTED = '***'

/** A question to a receiver whose senders send the key itself. */
interface SecretContext extends Context {
  /** Name of the header with the key, in lower case. */
  header: string
}

/** Explains what a receiver does with a request that should contain the key in a header. */
export async function explainSecret(context: SecretContext, keys: KeySource): Promise<Finding> {
  const { question, headers, code, header } = context
  const value = headers.get(header) ?? ''
  if (!question.body) {
    if (typeof keys.signatureKey === 'function' && code?.startsWith('key_'))
      await askReceiver(context, keys.signatureKey, new Map([...headers, [header, value || REDACTED]]))
    if (keys.finding || !code?.startsWith('signature_')) return keys.finding ?? explainHead(context)
    const evidence =
      'The receiver reported that the key in the header is wrong. The header is not given here.'
    return (await findRefusal(context, keys.keys)) ?? { cause: 'secret_wrong', evidence }
  }
  const emptyKey = findEmptyKey(keys)
  if (emptyKey) return emptyKey
  const asked = withAssumedType(headers, code)
  const decoy = toHex(createDecoy())
  const isUnsigned = value === '' && question.unsigned === 'accept'
  const isUncompared = value === REDACTED || isUnsigned
  // The rest of a request whose key is unknown here is checked with another key.
  const answer = isUncompared
    ? await askReceiver(context, [utf8(decoy)], new Map([...asked, [header, decoy]]))
    : await askReceiver(context, keys.signatureKey, asked)
  const unnamed = isUnsigned ? await findUnnamed(keys, answer.head) : undefined
  if (unnamed) return unnamed
  const refused = answer.refusal?.code
  if (keys.finding && refused?.startsWith('key_')) return keys.finding
  const known = await keys.read(answer.head)
  if (refused?.startsWith('signature_') || (isUncompared && code?.startsWith('signature_')))
    return (await findRefusal(context, known)) ?? (await differs(value, header, known))
  const finding = await explainAnswer({ ...context, headers: asked }, answer, secretProof(context, known))
  const isAccepted = finding.cause === 'ok' || finding.cause === 'key_previous'
  return (isAccepted && findRejectedKeys(question)) || finding
}

function secretProof({ headers, header }: SecretContext, keys: readonly Uint8Array[]): Proof {
  const value = headers.get(header) ?? ''
  const index = keys.findIndex((key) => isSame(value, key))
  const contained = index > 0 ? `key ${index} of the list, in which 0 is the newest` : 'the key'
  const state =
    value === ''
      ? `The header ${header} is missing, and this receiver accepts requests without it.`
      : value === REDACTED
        ? `The value of the header ${header} is redacted here, so it was not compared with the key.`
        : `The header ${header} contains ${contained}.`
  return {
    keys,
    accept: ({ isHandshake }): Finding =>
      isHandshake
        ? { cause: 'ok', evidence: 'The request registers a webhook: it has no delivery.' }
        : { cause: index > 0 ? 'key_previous' : 'ok', evidence: `${state} The body is not signed.` },
    describe: () => state,
  }
}

/** Finds out why the header is not the key. Returns undefined if no known mistake leads to its value. */
async function findRefusal(
  { headers, header, code, question }: SecretContext,
  keys: readonly Uint8Array[],
): Promise<Finding | undefined> {
  const value = headers.get(header) ?? ''
  const found = (cause: Finding['cause'], evidence: string): Finding => ({ cause, evidence })
  if (value === REDACTED) {
    const redacted = `The value of the header ${header} is redacted here, so it was not compared with the key.`
    return found('secret_wrong', `The receiver reported ${code}. ${redacted}`)
  }
  const signed = await findSignature(headers, header, keys, question.body)
  if (signed) return found('sender_signs', signed)
  if (value === '') {
    const state = headers.has(header) ? 'is empty' : 'is missing'
    return found('secret_missing', `The header ${header} ${state}. No other header looks like a signature.`)
  }
  for (const key of keys) {
    if (isSame(toBinary(trim(fromText(value))), trim(key))) {
      const evidence = `The header ${header} contains the key, but one side has white space around it.`
      return found('key_whitespace', evidence)
    }
    if (value.split(',').some((part) => isSame(part.trim(), key)))
      return found(
        'secret_wrong',
        `The header ${header} contains the key more than once, or other values too.`,
      )
    for (const [cause, changed, description] of keyHypotheses(key))
      if (isSame(value, changed)) return found(cause, `The header ${header} contains ${description}.`)
  }
  return undefined
}

/** Names of headers whose value is called a signature although it does not verify. Keys and ids look the same. */
const SIGNATURE_NAME = /signature|^x-service$/

/** Looks for a signature: in the header of the key, in another header, or in the last field of a form. */
async function findSignature(
  headers: ReadonlyMap<string, string>,
  header: string,
  keys: readonly Uint8Array[],
  body: Uint8Array | undefined,
): Promise<string | undefined> {
  for (const [name, text] of headers) {
    const digest = decodeSignature(percentDecode(text.slice(0, 300)))
    if (typeof digest === 'string') continue
    let isValid = false
    for (const key of keys) isValid ||= !!body && (await hmacSha256(key, body)) === toHex(digest)
    if (!isValid && (name === header || !SIGNATURE_NAME.test(name))) continue
    const place = isShown(name, keys) ? `The header ${name}` : 'A header'
    return `${place} contains a signature${isValid ? ' of the body with the key of this side' : ''}.`
  }
  for (const { signatureHeader } of [arcgis, service])
    if (body && splitSignedForm(body, signatureHeader))
      return `The last field of the form, ${signatureHeader}, contains a signature.`
  return undefined
}

/** Shows 16 bits of both hashes: enough to compare both sides, but too little to verify a guess. */
async function differs(value: string, header: string, keys: readonly Uint8Array[]): Promise<Finding> {
  const starts = await Promise.all(
    [fromText(value), ...keys].map(async (bytes) => (await hashOf('sha256', bytes))?.slice(0, 4)),
  )
  const others = starts.slice(1).join(' or ')
  const evidence = `The SHA-256 of the header ${header} begins with ${starts[0]}, that of the key with ${others}.`
  return { cause: 'secret_wrong', evidence }
}

/** The bytes of a header, as the receiver reads them. */
const fromText = (text: string): Uint8Array => (/[^\0-\xff]/.test(text) ? utf8(text) : fromBinary(text))

const isSame = (text: string, key: BytesOrText): boolean =>
  toBinary(fromText(text)) === toBinary(typeof key === 'string' ? utf8(key) : key)

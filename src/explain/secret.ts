import { fromBinary, toBinary, toHex, utf8 } from '../shared/bytes.ts'
import { arcgis, service } from '../signature/profiles.ts'
import { decodeSignature, percentDecode, splitSignedForm } from '../signature/signature.ts'
import { type Context, explainAnswer, type Proof } from './answers.ts'
import { hashOf, hmacSha256 } from './digests.ts'
import { explainHead } from './explain-head.ts'
import { keyHypotheses } from './keys.ts'
import { isShown } from './names.ts'
import { type Answer, askReceiver, type CreateReceiver } from './receiver.ts'
import { withAssumedType } from './request.ts'
import { createDecoy, findEmptyKey, findRejectedKeys, findUnnamed, type KeySource } from './request-keys.ts'
import { trim } from './text.ts'
import type { BytesOrText, Finding } from './types.ts'

/** What a receiver, a capture and the inspector show in place of the key. */
const REDACTED = '***'

/** A question to a receiver whose senders send the key itself. */
interface SecretContext extends Context {
  /** Name of the header with the key, in lower case. */
  header: string
}

/** Explains what a receiver does with a request that should contain the key in a header. */
export async function explainSecret(
  context: SecretContext,
  keys: KeySource,
  createReceiver: CreateReceiver,
): Promise<Finding> {
  const { question, headers, code, header, now } = context
  const { body = new Uint8Array(), unsigned } = question
  const value = headers.get(header) ?? ''
  const ask = (key: KeySource['signatureKey'], sent: ReadonlyMap<string, string>) =>
    askReceiver(createReceiver, { ...question, body, clock: () => now }, key, sent)
  if (!question.body) {
    if (typeof keys.signatureKey === 'function' && code?.startsWith('key_'))
      await ask(keys.signatureKey, new Map([...headers, [header, value || REDACTED]]))
    if (keys.finding || !code?.startsWith('signature_'))
      return keys.finding ?? explainHead(context, createReceiver)
    return (await findRefusal(context, keys.keys, code)) ?? { cause: 'secret_wrong', evidence: NOT_HERE }
  }
  const emptyKey = findEmptyKey(keys)
  if (emptyKey) return emptyKey
  const asked = withAssumedType(headers, code)
  const decoy = toHex(createDecoy())
  const isUnsigned = value === '' && unsigned === 'accept'
  const isUncompared = value === REDACTED || isUnsigned
  // The rest of a request whose key is unknown here is checked with another key.
  const answer = isUncompared
    ? await ask([utf8(decoy)], new Map([...asked, [header, decoy]]))
    : await ask(keys.signatureKey, asked)
  const unnamed = isUnsigned ? await findUnnamed(keys, answer.head) : undefined
  if (unnamed) return unnamed
  const refused = answer.refusal?.code
  if (keys.finding && refused?.startsWith('key_')) return keys.finding
  const known = await keys.read(answer.head)
  if (refused?.startsWith('signature_') || (isUncompared && code?.startsWith('signature_')))
    return (await findRefusal(context, known, code)) ?? (await differs(value, header, known))
  const finding = await explainAnswer(
    { ...context, headers: asked, body },
    answer,
    secretProof(context, known),
  )
  const isAccepted = finding.cause === 'ok' || finding.cause === 'key_previous'
  return (isAccepted && findRejectedKeys(question)) || finding
}

const NOT_HERE = 'The receiver reported that the key in the header is wrong. The header is not given here.'

function secretProof({ headers, header }: SecretContext, keys: readonly Uint8Array[]): Proof {
  const value = headers.get(header) ?? ''
  const index = keys.findIndex((key) => isSame(value, key))
  const state =
    value === ''
      ? `The header ${header} is missing, and this receiver accepts requests without it.`
      : value === REDACTED
        ? `The value of the header ${header} is redacted here, so it was not compared with the key.`
        : `The header ${header} contains ${index > 0 ? `key ${index} of the list, in which 0 is the newest` : 'the key'}.`
  return {
    keys,
    accept: ({ isHandshake }: Answer): Finding =>
      isHandshake
        ? { cause: 'ok', evidence: 'The request registers a webhook: it has no delivery.' }
        : { cause: index > 0 ? 'key_previous' : 'ok', evidence: `${state} The body is not signed.` },
    describe: () => state,
  }
}

/** Finds out why the header is not the key. Returns undefined if no known mistake leads to its value. */
async function findRefusal(
  { headers, header, question: { body } }: SecretContext,
  keys: readonly Uint8Array[],
  code: string | undefined,
): Promise<Finding | undefined> {
  const value = headers.get(header) ?? ''
  if (value === REDACTED)
    return {
      cause: 'secret_wrong',
      evidence: `The receiver reported ${code}. The value of the header ${header} is redacted here, so it was not compared with the key.`,
    }
  const signed = await findSignature(headers, header, keys, body)
  if (signed) return { cause: 'sender_signs', evidence: signed }
  if (value === '') {
    const evidence = `The header ${header} ${headers.has(header) ? 'is empty' : 'is missing'}. No other header looks like a signature.`
    return { cause: 'secret_missing', evidence }
  }
  for (const key of keys) {
    if (isSame(toBinary(trim(fromText(value))), trim(key)))
      return {
        cause: 'key_whitespace',
        evidence: `The header ${header} contains the key, but one side has white space around it.`,
      }
    if (value.split(',').some((part) => isSame(part.trim(), key)))
      return {
        cause: 'secret_wrong',
        evidence: `The header ${header} contains the key more than once, or other values next to it.`,
      }
    for (const [cause, hypothesis, description] of keyHypotheses(key))
      if (isSame(value, hypothesis))
        return { cause, evidence: `The header ${header} contains ${description}.` }
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
    const isValid = await verifies(text, body, keys)
    if (isValid === undefined || (!isValid && (name === header || !SIGNATURE_NAME.test(name)))) continue
    const place = isShown(name, keys) ? `The header ${name}` : 'A header'
    return `${place} contains a signature${isValid ? ' of the body with the key of this side' : ''}.`
  }
  for (const { signatureHeader } of [arcgis, service]) {
    const form = body && splitSignedForm(body, signatureHeader)
    if (form) return `The last field of the form, ${signatureHeader}, contains a signature.`
  }
  return undefined
}

/** Returns whether a text is the signature of the body; undefined if the text cannot be a signature. */
async function verifies(
  text: string,
  body: Uint8Array | undefined,
  keys: readonly Uint8Array[],
): Promise<boolean | undefined> {
  const digest = decodeSignature(percentDecode(text.slice(0, 300)))
  if (typeof digest === 'string') return undefined
  for (const key of keys) if (body && (await hmacSha256(key, body)) === toHex(digest)) return true
  return false
}

/** Shows 16 bits of both hashes: enough to compare both sides, but too little to verify a guess. */
async function differs(value: string, header: string, keys: readonly Uint8Array[]): Promise<Finding> {
  const starts = await Promise.all(
    [fromText(value), ...keys].map(async (bytes) => (await hashOf('sha256', bytes))?.slice(0, 4)),
  )
  const evidence = `The SHA-256 of the header ${header} begins with ${starts[0]}, that of the key with ${starts.slice(1).join(' or ')}.`
  return { cause: 'secret_wrong', evidence }
}

/** The bytes of a header, as the receiver reads them. */
const fromText = (text: string): Uint8Array => (/[^\0-\xff]/.test(text) ? utf8(text) : fromBinary(text))

const isSame = (text: string, key: BytesOrText): boolean =>
  toBinary(fromText(text)) === toBinary(typeof key === 'string' ? utf8(key) : key)

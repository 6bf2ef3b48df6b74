import { headerBytes } from '../receiver/verify.ts'
import { utf8 } from '../shared/bytes.ts'
import { arcgis, service } from '../signature/profiles.ts'
import { decodeSignature, percentDecode, splitSignedForm } from '../signature/signature.ts'
import type { Scheme } from './answers.ts'
import { toBinary, trim } from './bytes.ts'
import { isShown } from './claims.ts'
import { findSigner, fingerprint } from './digests.ts'
import { keyHypotheses } from './keys.ts'
import type { Context } from './request.ts'
import { type BytesOrText, type Finding, found } from './types.ts'

/** What a receiver, a capture and the inspector show in place of the key. */
const REDACTED = '***'

/** The scheme of senders that send the key itself, in the header `field`. */
export function secretScheme(context: Context): Scheme {
  const { code, headers, field } = context
  const value = headers.get(field) ?? ''
  const indexIn = (keys: readonly Uint8Array[]) => keys.findIndex((key) => isSame(value, key))
  const describe = (keys: readonly Uint8Array[]): string => {
    if (value === '') return `The header ${field} is missing, and this receiver accepts requests without it.`
    if (value === REDACTED) return redactedEvidence(field)
    const index = indexIn(keys)
    const key = index > 0 ? `key ${index} of the list, in which 0 is the newest` : 'the key'
    return `The header ${field} contains ${key}.`
  }
  return {
    placeholder: REDACTED,
    isHidden: value === REDACTED,
    prove: (key) => toBinary(key),
    async explainCode(keys) {
      if (!code?.startsWith('signature_')) return undefined
      const reported = 'The receiver reported that the key in the header is wrong.'
      const refusal = await findRefusal(context, value, keys)
      return refusal ?? found('secret_wrong', `${reported} The header is not given here.`)
    },
    async explainMismatch(keys) {
      return [(await findRefusal(context, value, keys)) ?? (await differs(value, field, keys))]
    },
    accept: (keys, { isHandshake }) =>
      isHandshake
        ? found('ok', 'The request registers a webhook: it has no delivery.')
        : found(indexIn(keys) > 0 ? 'key_previous' : 'ok', `${describe(keys)} The body is not signed.`),
    describe,
  }
}

const redactedEvidence = (field: string): string =>
  `The value of the header ${field} is redacted here, so it was not compared with the key.`

/** Finds out why the header is not the key. Returns undefined if no known mistake leads to its value. */
async function findRefusal(
  { headers, field, request, code }: Context,
  value: string,
  keys: readonly Uint8Array[],
): Promise<Finding | undefined> {
  if (value === REDACTED)
    return found('secret_wrong', `The receiver reported ${code}. ${redactedEvidence(field)}`)
  const signed = await findSignature(headers, field, keys, request.body)
  if (signed) return found('sender_signs', signed)
  if (value === '') {
    const state = headers.has(field) ? 'is empty' : 'is missing'
    return found('secret_missing', `The header ${field} ${state}. No other header looks like a signature.`)
  }
  const contains = `The header ${field} contains`
  for (const key of keys) {
    if (isSame(toBinary(trim(headerBytes(value))), trim(key)))
      return found('key_whitespace', `${contains} the key, but one side has white space around it.`)
    if (value.split(',').some((part) => isSame(part.trim(), key)))
      return found('secret_wrong', `${contains} the key more than once, or other values too.`)
    for (const [cause, changed, description] of keyHypotheses(key))
      if (isSame(value, changed)) return found(cause, `${contains} ${description}.`)
  }
  return undefined
}

const SIGNATURE_NAME = /signature|^x-service$/

/** Looks for a signature: in the header of the key, in another header, or in the last field of a form. */
async function findSignature(
  headers: ReadonlyMap<string, string>,
  field: string,
  keys: readonly Uint8Array[],
  body: Uint8Array | undefined,
): Promise<string | undefined> {
  for (const [name, text] of headers) {
    const digest = decodeSignature(percentDecode(text.slice(0, 300)))
    if (typeof digest === 'string') continue
    const isValid = !!body && (await findSigner(keys, body, digest)) >= 0
    if (!isValid && (name === field || !SIGNATURE_NAME.test(name))) continue
    const place = isShown(name, keys) ? `The header ${name}` : 'A header'
    return `${place} contains a signature${isValid ? ' of the body with the key of this side' : ''}.`
  }
  for (const { signatureHeader } of [arcgis, service]) {
    const text = body && splitSignedForm(body, signatureHeader)?.signature
    if (text && typeof decodeSignature(percentDecode(text)) !== 'string')
      return `The last field of the form, ${signatureHeader}, contains a signature.`
  }
  return undefined
}

async function differs(value: string, field: string, keys: readonly Uint8Array[]): Promise<Finding> {
  const [own, ...others] = await Promise.all([headerBytes(value), ...keys].map(fingerprint))
  const evidence = `The SHA-256 of the header ${field} begins with ${own}, that of the key with ${others.join(' or ')}.`
  return found('secret_wrong', evidence)
}

const isSame = (text: string, key: BytesOrText): boolean =>
  toBinary(headerBytes(text)) === toBinary(typeof key === 'string' ? utf8(key) : key)

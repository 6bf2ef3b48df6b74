import { toBase64 } from '../shared/bytes.ts'
import { decodeSignature } from '../signature/signature.ts'
import { fromHex, toBinary, trim } from './bytes.ts'
import { type Claims, isShown, MAX_SIGNATURE } from './claims.ts'
import { fingerprint, hashOf } from './digests.ts'
import { findPlaceholder } from './keys.ts'
import { grouped } from './refusals.ts'
import type { ReceivedRequest } from './request.ts'
import { search } from './search.ts'
import { type Finding, found } from './types.ts'
import { Work } from './work.ts'

/** Explains why a signature is missing or does not match. */
export async function explainSignature(
  request: ReceivedRequest,
  claims: Claims,
  isThorough: boolean,
): Promise<readonly Finding[]> {
  const work = new Work(request.body.length, isThorough)
  const keys = searchedKeys(request.keys)
  const causes = await search({ ...request, keys }, claims, work)
  if (causes) return causes
  return [
    findMissingSignature(request, claims) ??
      findLostBody(request) ??
      (await findChangedBody(request)) ??
      findPlaceholder(request.keys) ??
      (await showFingerprints(request, work)),
  ]
}

/** Maximum size in bytes of the keys for which hypotheses are tested, all together. */
const MAX_KEYS = 64 * 1024

function searchedKeys(keys: readonly Uint8Array[]): Uint8Array[] {
  let left = MAX_KEYS
  const searched: Uint8Array[] = []
  for (const key of keys) {
    if (key.length > left) continue
    left -= key.length
    searched.push(key)
  }
  return searched
}

/** Says that the signature header is missing, and which other headers look like signatures. */
export function findMissingSignature(
  { value, headerName, headers, keys }: ReceivedRequest,
  { otherHeaders, isComplete }: Pick<Claims, 'otherHeaders' | 'isComplete'>,
): Finding | undefined {
  if (value !== '') return undefined
  const state = headers.has(headerName) ? 'is empty' : 'is missing'
  const names = otherHeaders.slice(0, 5).filter((name) => isShown(name, keys))
  const others = otherHeaders.length
    ? `${names.length ? 'These' : 'Other'} headers look like signatures, but do not match${names.length ? `: ${names.join(', ')}` : ''}.`
    : isComplete
      ? 'No other header looks like a signature.'
      : 'Not all other headers were searched, because there are too many or they are too long.'
  return found('signature_header_missing', `The header ${headerName} ${state}. ${others}`)
}

const OBJECT = '[object Object]'

/**
 * Services always send a body, so an empty one was lost, for example because other code read it first.
 * `content-length: 0` rules that out: the request arrived without a body. No service sends `[object Object]`.
 */
function findLostBody({ body, headers, decoded }: ReceivedRequest): Finding | undefined {
  if (typeof decodeSignature(decoded) === 'string') return undefined
  if (body.length === OBJECT.length && toBinary(body) === OBJECT) {
    const evidence = `The body on this side is the text ${OBJECT}: a parsed object was converted to text.`
    return found('body_stringified', evidence)
  }
  if (body.length > 0 || headers.get('content-length') === '0') return undefined
  const evidence =
    'The body on this side is empty, and the signature was not computed over an empty body with this key.'
  return found('body_empty', evidence)
}

/** Headers with a SHA-256 of the body (RFC 9530, RFC 3230). */
const HASHES = ['content-digest', 'repr-digest', 'digest']
const SHA256 = /(?:^|[,\s])sha-256=:?([\w+/]{43}=)/i

async function findChangedBody({ body, headers, isInField }: ReceivedRequest): Promise<Finding | undefined> {
  if (isInField) return undefined // only a part of the body is known here
  const length = headers.get('content-length') ?? ''
  if (/^\d{1,15}$/.test(length) && Number(length) !== body.length) {
    const evidence = `The header content-length says ${length} bytes, but the body on this side has ${body.length}.`
    return found('body_changed', evidence)
  }
  const computed = toBase64(fromHex((await hashOf('sha256', body)) ?? '') ?? body)
  const name = HASHES.find((each) => (SHA256.exec(headers.get(each) ?? '')?.[1] ?? computed) !== computed)
  if (name === undefined) return undefined
  const evidence = `The header ${name} contains the hash of a body other than the one on this side.`
  return found('body_changed', evidence)
}

/** Maximum number of bytes around a key in a body that is little more than the key. */
const MAX_AROUND = 200

/** Returns true for a body that is a key, also with some text around it: its hash would let others verify guesses. */
const isKey = (body: Uint8Array, keys: readonly Uint8Array[]): boolean =>
  keys.map(trim).some((key) => {
    const around = body.length - key.length
    return around >= 0 && around <= MAX_AROUND && toBinary(body).includes(toBinary(key))
  })

/** Shows the body's SHA-256 in full, because only the full hash proves that both sides have the same bytes. */
async function showFingerprints(
  { body, keys, value, isInField }: ReceivedRequest,
  { omission }: Work,
): Promise<Finding> {
  const fingerprints = await Promise.all(keys.map(fingerprint))
  const hash = await hashOf('sha256', body)
  const what = isKey(body, keys) ? `a SHA-256 that begins with ${hash?.slice(0, 4)}` : `the SHA-256 ${hash}`
  const evidence = [
    `The ${isInField ? 'payload field' : 'body'} has ${body.length} bytes and ${what}.`,
    `The SHA-256 of the key begins with ${fingerprints.join(' or ')}.`,
  ]
  if (typeof decodeSignature(value) === 'string')
    evidence.push('The signature is not 32 bytes in hex or base64.')
  if (value.length > MAX_SIGNATURE) {
    const why = `because the signature has more than ${grouped(MAX_SIGNATURE)} characters`
    evidence.push(`Not all hypotheses were tested, ${why}.`)
  }
  if (searchedKeys(keys).length < keys.length)
    evidence.push(`Not all keys were tested, because they have more than ${grouped(MAX_KEYS)} bytes.`)
  if (omission) evidence.push(omission)
  return found('unexplained', evidence.join(' '))
}

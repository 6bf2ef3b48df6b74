import { toHex } from '../bytes.ts'
import { decodeSignature } from '../encoding.ts'
import { findOtherAlgorithm } from './algorithms.ts'
import { bodyVariants } from './body-variants.ts'
import { FIXES } from './causes.ts'
import type { Diagnosis, ExplainOptions, Finding } from './explain-types.ts'
import { keyVariants } from './key-variants.ts'
import { findInOtherPlace } from './misplaced-signature.ts'
import { type ReceivedRequest, readRequest } from './read-request.ts'
import { hashOf, hmacSha256, isDigest } from './recompute.ts'
import { findUnusualValue } from './signature-value.ts'

/**
 * Implements `explain`.
 * @throws {TypeError} for a key that is neither a string nor bytes
 */
export async function diagnose(options: ExplainOptions & { body: Uint8Array }): Promise<Diagnosis> {
  const { cause, evidence } = await findCause(readRequest(options))
  return { ok: cause === 'ok' || cause === 'key_previous', cause, evidence, fix: FIXES[cause] }
}

async function findCause(request: ReceivedRequest): Promise<Finding> {
  return (
    // This check is first: if the sender's key is empty too, the signature would match.
    findEmptyKey(request) ??
    (await findMatch(request)) ??
    (await findInOtherPlace(request)) ??
    findMissingSignature(request) ??
    (await findUnusualValue(request)) ??
    (await findOtherAlgorithm(request)) ??
    (await findOtherKey(request)) ??
    (await findOtherBody(request)) ??
    (await showFingerprints(request))
  )
}

function findEmptyKey({ keys }: ReceivedRequest): Finding | undefined {
  if (keys.length > 0 && keys.every((key) => key.length > 0)) return undefined
  const subject = keys.length > 1 ? 'One of the keys' : 'The key'
  return {
    cause: 'key_empty',
    evidence: `${subject} on this side is empty, blank, all zero bytes, or not set.`,
  }
}

async function findMatch({ decoded, body, keys }: ReceivedRequest): Promise<Finding | undefined> {
  for (const [index, key] of keys.entries()) {
    if (!isDigest(decoded, await hmacSha256(key, body))) continue
    if (index === 0)
      return { cause: 'ok', evidence: 'The signature was computed over this body with this key.' }
    return {
      cause: 'key_previous',
      evidence: `The signature was computed with key ${index} of the list, in which 0 is the newest.`,
    }
  }
  return undefined
}

function findMissingSignature({ value, headerName, headers }: ReceivedRequest): Finding | undefined {
  if (value !== '') return undefined
  const state = headers.has(headerName) ? 'is empty' : 'is missing'
  const similar = [...headers].filter(([, other]) => typeof decodeSignature(other) !== 'string')
  const names = similar.slice(0, 5).map(([name]) => name)
  const others = names.length
    ? `These headers look like signatures, but do not match: ${names.join(', ')}.`
    : 'No other header looks like a signature.'
  return { cause: 'signature_header_missing', evidence: `The header ${headerName} ${state}. ${others}` }
}

async function findOtherKey({ decoded, body, keys }: ReceivedRequest): Promise<Finding | undefined> {
  for (const key of keys) {
    for (const [cause, variants] of keyVariants(key)) {
      for (const [bytes, description] of variants) {
        if (isDigest(decoded, await hmacSha256(bytes, body))) {
          return { cause, evidence: `The signature was computed with ${description}.` }
        }
      }
    }
  }
  return undefined
}

async function findOtherBody(request: ReceivedRequest): Promise<Finding | undefined> {
  const { decoded, body, keys, headers } = request
  for await (const [cause, [bytes, description]] of bodyVariants(body)) {
    for (const key of keys) {
      if (isDigest(decoded, await hmacSha256(key, bytes))) {
        return { cause, evidence: `The signature was computed over ${description}.` }
      }
    }
  }
  // Services always send a body, so an empty one was lost, for example because other code read it first.
  // `content-length: 0` rules that out: the request arrived without a body.
  const isLost = body.length === 0 && headers.get('content-length') !== '0'
  if (!isLost || typeof decodeSignature(decoded) === 'string') return undefined
  return {
    cause: 'body_empty',
    evidence:
      'The body on this side is empty, and the signature was not computed over an empty body with this key.',
  }
}

/**
 * Shows 16 bits of each key's SHA-256. That is enough to compare the keys of both sides, but too little to verify a
 * guessed key. The body's SHA-256 is shown in full, because only the full hash proves that both sides have the same
 * bytes.
 */
async function showFingerprints({ body, keys, value, isInField }: ReceivedRequest): Promise<Finding> {
  const fingerprints = await Promise.all(keys.map(async (key) => (await sha256(key)).slice(0, 4)))
  const evidence = [
    `The ${isInField ? 'payload field' : 'body'} has ${body.length} bytes and the SHA-256 ${await sha256(body)}.`,
    `The SHA-256 of the key begins with ${fingerprints.join(' or ')}.`,
  ]
  if (typeof decodeSignature(value) === 'string')
    evidence.push('The signature is not 32 bytes in hex or base64.')
  return { cause: 'unexplained', evidence: evidence.join(' ') }
}

const sha256 = async (bytes: Uint8Array): Promise<string> => toHex(await hashOf('SHA-256', bytes))

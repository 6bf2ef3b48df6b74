import { toHex } from '../bytes.ts'
import { decodeSignature } from '../encoding.ts'
import { explainAlgorithm } from './algorithms.ts'
import { bodyVariants } from './body-variants.ts'
import { FIXES } from './causes.ts'
import { keyVariants } from './key-variants.ts'
import { explainElsewhere } from './other-places.ts'
import { type Case, readCase } from './read-request.ts'
import { type Finding, isWriting, mac } from './recompute.ts'
import { explainSignature } from './signature-value.ts'
import type { Diagnosis, ExplainOptions } from './types.ts'

/** See `explain`. @throws {TypeError} for a key that is neither a string nor bytes */
export async function diagnose(options: ExplainOptions & { body: Uint8Array }): Promise<Diagnosis> {
  const { cause, evidence } = await findCause(readCase(options))
  return { ok: cause === 'ok' || cause === 'key_previous', cause, evidence, fix: FIXES[cause] }
}

async function findCause(given: Case): Promise<Finding> {
  return (
    // An empty key comes first: whoever signs with an empty one too would match it.
    explainEmptyKey(given) ??
    (await explainMatch(given)) ??
    (await explainElsewhere(given)) ??
    explainMissing(given) ??
    (await explainSignature(given)) ??
    (await explainAlgorithm(given)) ??
    (await explainKey(given)) ??
    (await explainBody(given)) ??
    (await fingerprints(given))
  )
}

/** What is not there needs no proof. */
function explainEmptyKey({ keys }: Case): Finding | undefined {
  if (keys.length > 0 && keys.every((key) => key.length > 0)) return undefined
  const which = keys.length > 1 ? 'One of the keys' : 'The key'
  return {
    cause: 'key_empty',
    evidence: `${which} on this side is empty, blank, all zero bytes, or not set.`,
  }
}

async function explainMatch({ decoded, body, keys }: Case): Promise<Finding | undefined> {
  for (const [index, key] of keys.entries()) {
    if (!isWriting(decoded, await mac(key, body))) continue
    if (index === 0) return { cause: 'ok', evidence: 'The signature was made over this body with this key.' }
    return {
      cause: 'key_previous',
      evidence: `The signature was made with key ${index} of the ring, 0 being the newest.`,
    }
  }
  return undefined
}

/** What is not there needs no proof. */
function explainMissing({ value, headerName, headers }: Case): Finding | undefined {
  if (value !== '') return undefined
  const state = headers.has(headerName) ? 'is empty' : 'is not there'
  const alike = [...headers].filter(([, other]) => typeof decodeSignature(other) !== 'string')
  const names = alike.slice(0, 5).map(([name]) => name)
  const others = names.length
    ? `These look like signatures, but do not match: ${names.join(', ')}.`
    : 'No other header looks like a signature.'
  return { cause: 'signature_header_missing', evidence: `The header ${headerName} ${state}. ${others}` }
}

async function explainKey({ decoded, body, keys }: Case): Promise<Finding | undefined> {
  for (const key of keys) {
    for (const [cause, variants] of keyVariants(key)) {
      for (const [bytes, what] of variants) {
        if (isWriting(decoded, await mac(bytes, body))) {
          return { cause, evidence: `The signature was made with ${what}.` }
        }
      }
    }
  }
  return undefined
}

async function explainBody({ decoded, body, keys, headers }: Case): Promise<Finding | undefined> {
  for await (const [cause, [bytes, what]] of bodyVariants(body)) {
    for (const key of keys) {
      if (isWriting(decoded, await mac(key, bytes))) {
        return { cause, evidence: `The signature was made over ${what}.` }
      }
    }
  }
  // A webhook has a body: an empty one with a signature over something else was lost, unless it was sent so.
  const isLost = body.length === 0 && headers.get('content-length') !== '0'
  if (!isLost || typeof decodeSignature(decoded) === 'string') return undefined
  return {
    cause: 'body_empty',
    evidence:
      'The body on this side is empty, and the signature was not made over an empty body with this key.',
  }
}

/**
 * Shows 16 bits of each key's SHA-256: enough to compare two sides, too few to find a key by trying words. The SHA-256
 * of the body is complete, because only that proves that both sides have the same bytes, and a body is not a key.
 */
async function fingerprints({ body, keys, value, isInField }: Case): Promise<Finding> {
  const prints = await Promise.all(keys.map(async (key) => (await sha256(key)).slice(0, 4)))
  const malformed = typeof decodeSignature(value) === 'string'
  const evidence = [
    `${isInField ? 'Payload field' : 'Body'}: ${body.length} bytes, SHA-256 ${await sha256(body)}.`,
    `Key: SHA-256 begins with ${prints.join(' or ')}.`,
    ...(malformed ? ['The signature is not 32 bytes in hex or base64.'] : []),
  ]
  return { cause: 'unexplained', evidence: evidence.join(' ') }
}

async function sha256(bytes: Uint8Array): Promise<string> {
  return toHex(await crypto.subtle.digest('SHA-256', bytes as Uint8Array<ArrayBuffer>))
}

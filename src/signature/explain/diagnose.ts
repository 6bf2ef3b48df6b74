import { toBytes, toHex, utf8 } from '../bytes.ts'
import { decodeSignature, percentDecode } from '../encoding.ts'
import { toKeyList } from '../keyring.ts'
import { explainAlgorithm } from './algorithms.ts'
import { bodyVariants } from './bodies.ts'
import { FIXES } from './causes.ts'
import type { Diagnosis, ExplainOptions } from './diagnosis.ts'
import { explainElsewhere } from './elsewhere.ts'
import { type Case, type Finding, isWriting, mac } from './hypothesis.ts'
import { keyVariants } from './keys.ts'
import { explainSignature } from './signatures.ts'

/** See `explain`. */
export async function diagnose(options: ExplainOptions): Promise<Diagnosis> {
  const { cause, evidence } = await findCause(readCase(options))
  return { ok: cause === 'ok' || cause === 'key_previous', cause, evidence, fix: FIXES[cause] }
}

function readCase({ body, headers, signatureKey, signatureHeader = 'x-service' }: ExplainOptions): Case {
  const pairs = Symbol.iterator in headers ? [...headers] : Object.entries(headers)
  const values = new Map<string, string>()
  for (const [name, value] of pairs) {
    const before = values.get(name.toLowerCase())
    const text = [before, value]
      .flat()
      .filter((part) => part !== undefined)
      .join(', ')
    values.set(name.toLowerCase(), text)
  }
  const headerName = signatureHeader.toLowerCase()
  return {
    body: toBytes(body),
    headers: values,
    headerName,
    value: values.get(headerName) ?? '',
    keys: toKeyList(signatureKey).map((key) => (typeof key === 'string' ? utf8(key) : key)),
  }
}

async function findCause(given: Case): Promise<Finding> {
  return (
    (await explainMatch(given)) ??
    (await explainElsewhere(given)) ??
    explainAbsence(given) ??
    (await explainSignature(given)) ??
    (await explainAlgorithm(given)) ??
    (await explainKey(given)) ??
    (await explainBody(given)) ??
    (await fingerprints(given))
  )
}

async function explainMatch({ value, body, keys }: Case): Promise<Finding | undefined> {
  if (typeof decodeSignature(value) === 'string') return undefined
  for (const [index, key] of keys.entries()) {
    if (key.length === 0 || !isWriting(percentDecode(value), await mac(key, body))) continue
    if (index === 0) return { cause: 'ok', evidence: 'The signature was made over this body with this key.' }
    return {
      cause: 'key_previous',
      evidence: `The signature was made with key ${index} of the ring, 0 being the newest.`,
    }
  }
  return undefined
}

/** What is not there needs no proof. */
function explainAbsence({ value, keys, headerName, headers }: Case): Finding | undefined {
  if (value === '') {
    const state = headers.has(headerName) ? 'is empty' : 'is not there'
    return {
      cause: 'signature_header_missing',
      evidence: `The header ${headerName} ${state}, and nothing else holds the signature.`,
    }
  }
  if (keys.length === 0 || keys.some((key) => key.length === 0)) {
    return { cause: 'key_empty', evidence: 'The key on this side is empty.' }
  }
  return undefined
}

async function explainKey({ value, body, keys }: Case): Promise<Finding | undefined> {
  for (const key of keys) {
    for (const [cause, variants] of keyVariants(key)) {
      for (const [bytes, what] of variants) {
        if (isWriting(percentDecode(value), await mac(bytes, body))) {
          return { cause, evidence: `The signature was made with ${what}.` }
        }
      }
    }
  }
  return undefined
}

async function explainBody({ value, body, keys }: Case): Promise<Finding | undefined> {
  for await (const [cause, [bytes, what]] of bodyVariants(body)) {
    for (const key of keys) {
      if (isWriting(percentDecode(value), await mac(key, bytes))) {
        return { cause, evidence: `The signature was made over ${what}.` }
      }
    }
  }
  if (body.length > 0) return undefined
  return {
    cause: 'body_empty',
    evidence: 'The body on this side is empty, and the signature is not one over an empty body.',
  }
}

async function fingerprints({ body, keys }: Case): Promise<Finding> {
  const prints = await Promise.all(keys.map(async (key) => (await sha256(key)).slice(0, 16)))
  const evidence =
    `Body: ${body.length} bytes, SHA-256 ${await sha256(body)}. ` +
    `Key: SHA-256 begins with ${prints.join(' or ')}.`
  return { cause: 'unexplained', evidence }
}

async function sha256(bytes: Uint8Array): Promise<string> {
  return toHex(new Uint8Array(await crypto.subtle.digest('SHA-256', bytes as Uint8Array<ArrayBuffer>)))
}

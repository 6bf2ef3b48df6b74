import { sha256 } from '#hmac'
import { bodyFormat } from '../payload/media-type.ts'
import { utf8 } from '../signature/bytes.ts'
import { decodeSignature } from '../signature/encoding.ts'
import { splitSignedForm } from '../signature/form-field.ts'
import { type SignatureCheck, startCheck } from '../signature/verify.ts'
import { readHeader } from './headers.ts'
import type { FoundKeys } from './keys.ts'
import type { Seen } from './observer.ts'
import type { Config } from './options.ts'
import { stacklessError } from './stackless-error.ts'

/** The result of a successful verification. */
export interface Proof {
  /** The id of the delivery. */
  id: string
  /** Index of the key that matched. Absent if the receiver accepted an unsigned request. */
  keyIndex?: number
  /** The tenant that the key function returned. */
  tenant?: string
}

/** The verification of one request. */
export interface Verification {
  /** Rejects if the keys cannot be found, or none matches the header `secret`. Set only while the keys are being found. */
  started?: Promise<unknown> | undefined
  /** Hashes the next part of the body before the rest arrives. Calls are optional. Keeps no reference to the bytes. */
  update(part: Uint8Array): void
  /**
   * Resolves with undefined if the request only registers a webhook, and has no delivery.
   *
   * @throws {WebhookError} `signature_missing`, `signature_malformed`, `signature_mismatch`, `key_unknown`
   */
  end(body: Uint8Array): Promise<Proof | undefined>
}

/**
 * Reads the signature and finds the keys. If the signature header is missing, a form may contain the signature in its
 * last field instead (docs/senders.md, "Signature").
 *
 * @throws {WebhookError} `signature_missing`, `signature_malformed`, `key_unavailable`
 */
export async function startSignatureVerification(seen: Seen, config: Config): Promise<Verification> {
  const { request } = seen
  const { encoding, findKeys, signatureHeader } = config
  const signature = decodeSignature(readHeader(request.headers, signatureHeader), encoding)
  if (signature === 'signature_malformed') throw stacklessError(signature)
  if (signature !== 'signature_missing')
    return startWithKeys(findKeys(seen), (keys) => {
      const check = startCheck(keys.keyring)
      return { update: check.update, end: (body) => prove(check, body, signature, keys) }
    })
  const isForm = bodyFormat(readHeader(request.headers, 'content-type')) === 'form'
  if (!isForm) requireUnsignedAccepted(config)
  return startWithKeys(findKeys(seen), (keys) => ({
    update() {},
    async end(body) {
      const form = isForm ? splitSignedForm(body, signatureHeader) : undefined
      if (!form) {
        requireUnsignedAccepted(config)
        return proveUnsigned(body, keys)
      }
      const formSignature = decodeSignature(form.signature, encoding)
      if (typeof formSignature === 'string') throw stacklessError(formSignature)
      return prove(startCheck(keys.keyring), form.signed, formSignature, keys)
    },
  }))
}

/**
 * Starts a verification when its keys are found. The body is read in the meantime, because otherwise its small chunks
 * would pile up in Node's memory.
 */
export function startWithKeys(
  keys: FoundKeys | Promise<FoundKeys>,
  start: (keys: FoundKeys) => Verification | Promise<Verification>,
): Verification | Promise<Verification> {
  if (!('then' in keys)) return start(keys)
  let verification: Verification | undefined
  let isLate = false
  const started = keys.then(start).then((result) => (verification = result))
  started.catch(() => {}) // handled by `end()`; reading the body may fail first
  return {
    started,
    update(part) {
      // If a part arrives before the keys, it is missing in the hash, so `end()` hashes the whole body.
      if (!verification) isLate = true
      else if (!isLate) verification.update(part)
    },
    end: async (body) => (await started).end(body),
  }
}

/** @throws {WebhookError} `signature_missing` */
function requireUnsignedAccepted({ acceptUnsigned }: Config): void {
  if (!acceptUnsigned) throw stacklessError('signature_missing')
}

/**
 * Accepts a request without a signature. Of the found keys, only the tenant is used.
 *
 * @throws {WebhookError} `key_unknown` if the key function returned an object without a valid tenant
 */
export async function proveUnsigned(body: Uint8Array, { tenant, tenantError }: FoundKeys): Promise<Proof> {
  if (tenantError) throw stacklessError('key_unknown', tenantError)
  return toProof(body, tenant)
}

async function prove(
  check: SignatureCheck,
  body: Uint8Array,
  signature: Uint8Array,
  keys: FoundKeys,
): Promise<Proof> {
  const keyIndex = await check.end(body, signature)
  requireKey(keyIndex, keys)
  return toProof(signature, keys.tenant, keyIndex)
}

/** @throws {WebhookError} `signature_mismatch`, `key_unknown` unless a key matched that is not a decoy */
export function requireKey(
  keyIndex: number,
  { count, keyError }: Pick<FoundKeys, 'count' | 'keyError'>,
): void {
  const isKey = keyIndex >= 0 && keyIndex < count // the keys from `count` on are decoys
  if (!isKey) throw stacklessError(count > 0 ? 'signature_mismatch' : 'key_unknown', keyError)
}

/**
 * The id is 32 hex digits of a hash. It is derived from the signature (or an unsigned body), so that it stays the same
 * when other keys are added or removed. The signature itself would be unsafe as the id: anyone who knows it could
 * replay the delivery. It depends on the tenant too, so the same bytes from two tenants are two deliveries.
 */
export async function toProof(
  bytes: Uint8Array,
  tenant: string | undefined,
  keyIndex?: number,
): Promise<Proof> {
  const hash = await sha256(bytes)
  const named = tenant === undefined ? hash : await sha256(utf8(`${hash} ${tenant}`))
  const proof: Proof = { id: named.slice(0, 32) }
  if (keyIndex !== undefined) proof.keyIndex = keyIndex
  if (tenant !== undefined) proof.tenant = tenant
  return proof
}

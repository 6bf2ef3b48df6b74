import { sha256 } from '#hmac'
import { bodyFormat } from '../payload/media-type.ts'
import { decodeSignature } from '../signature/encoding.ts'
import { splitSignedForm } from '../signature/form-field.ts'
import { type SignatureCheck, startCheck } from '../signature/verify.ts'
import { readHeader } from './headers.ts'
import type { FoundKeys } from './keys.ts'
import type { Config } from './options.ts'
import type { RequestHead } from './request.ts'
import { stacklessError } from './stackless-error.ts'

/** The result of a successful verification. */
export interface Proof {
  /** The id of the delivery. */
  id: string
  /** Index of the key that matched. Absent if the receiver accepted an unsigned request. */
  keyIndex?: number
}

/** The verification of one request: `update()` per chunk of the body, then `end()` once. */
export interface Verification {
  update(chunk: Uint8Array): void
  /**
   * Resolves with undefined if the request only registers a webhook, and has no delivery.
   *
   * @throws {WebhookError} `signature_missing`, `signature_malformed`, `signature_mismatch`, `key_unknown`
   */
  end(body: Uint8Array): Promise<Proof | undefined>
}

/**
 * Reads the signature and finds the keys before the body is read, so that the body can be hashed while it arrives. If
 * the signature header is missing, a form may contain the signature in its last field instead (docs/senders.md,
 * "Signature").
 *
 * @throws {WebhookError} `signature_missing`, `signature_malformed`, `key_unavailable`
 */
export async function startSignatureVerification(
  request: RequestHead,
  config: Config,
): Promise<Verification> {
  const { encoding, findKeys, signatureHeader } = config
  const signature = decodeSignature(readHeader(request.headers, signatureHeader), encoding)
  if (signature === 'signature_malformed') throw stacklessError(signature)
  if (signature !== 'signature_missing') {
    const keys = await findKeys(request)
    const check = startCheck(keys.keyring)
    return { update: check.update, end: () => prove(check, signature, keys) }
  }
  if (bodyFormat(readHeader(request.headers, 'content-type')) !== 'form') return startUnsigned(config)
  const keys = await findKeys(request)
  return {
    update() {},
    async end(body) {
      const form = splitSignedForm(body, signatureHeader)
      if (!form) return startUnsigned(config).end(body)
      const formSignature = decodeSignature(form.signature, encoding)
      if (typeof formSignature === 'string') throw stacklessError(formSignature)
      const check = startCheck(keys.keyring)
      check.update(form.signed)
      return prove(check, formSignature, keys)
    },
  }
}

/** @throws {WebhookError} `signature_missing`, unless the receiver accepts unsigned requests */
export function startUnsigned({ acceptUnsigned }: Config): Verification {
  if (!acceptUnsigned) throw stacklessError('signature_missing')
  return { update() {}, end: async (body) => ({ id: await toId(body) }) }
}

async function prove(
  check: SignatureCheck,
  signature: Uint8Array,
  { count, keyError }: FoundKeys,
): Promise<Proof> {
  const keyIndex = await check.end(signature)
  requireKey(keyIndex, { count, keyError })
  // The id is derived from the signature, so that it stays the same when other keys are added or removed.
  return { id: await toId(signature), keyIndex }
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
 * Returns 32 hex digits of a hash as the id. The signature itself would be unsafe as the id: anyone who knows it could
 * replay the delivery.
 */
export const toId = async (bytes: Uint8Array): Promise<string> => (await sha256(bytes)).slice(0, 32)

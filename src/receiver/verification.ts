import { sha256 } from '#hmac'
import { refusal } from '#refusal'
import { bodyFormat } from '../payload/media-type.ts'
import { type Awaitable, when } from '../signature/awaitable.ts'
import { decodeSignature } from '../signature/encoding.ts'
import { splitSignedForm } from '../signature/form-field.ts'
import { type SignatureCheck, startCheck } from '../signature/verify.ts'
import { readHeader } from './headers.ts'
import type { FoundKeys } from './keys.ts'
import type { Config } from './options.ts'
import type { RequestHead } from './request.ts'

/** What a verified request has proved. */
export interface Proof {
  /** The id of the delivery. */
  id: string
  /** The key that matched; absent where an unsigned request was accepted. */
  keyIndex?: number
}

/** The verification of one request, fed with the body as it arrives. */
export interface Verification {
  update(chunk: Uint8Array): void
  /** @throws {WebhookError} `signature_missing`, `signature_malformed`, `signature_mismatch`, `key_unknown` */
  end(body: Uint8Array): Awaitable<Proof>
}

/**
 * Reads the signature from the header and finds the keys before the body is read, so that the body can be hashed
 * while it arrives. Only a form without the header may carry its signature at its end; nobody can choose to be let
 * through without one.
 *
 * @throws {WebhookError} `signature_missing`, `signature_malformed`, `key_unavailable`
 */
export function startVerification(request: RequestHead, config: Config): Awaitable<Verification> {
  const { encoding, signatureHeader } = config
  const decoded = decodeSignature(readHeader(request.headers, signatureHeader), encoding)
  if (decoded === 'signature_malformed') throw refusal(decoded)
  const isMissing = decoded === 'signature_missing'
  if (isMissing && bodyFormat(readHeader(request.headers, 'content-type')) !== 'form') return unsigned(config)
  return when(config.findKeys(request), (keys) => {
    const check = startCheck(keys.keyring)
    if (!isMissing) return { update: check.update, end: () => prove(check, decoded, keys) }
    return {
      update() {},
      end(body) {
        const form = splitSignedForm(body, signatureHeader)
        if (!form) return unsigned(config).end(body)
        const signature = decodeSignature(form.signature, encoding)
        if (typeof signature === 'string') throw refusal(signature)
        check.update(form.signed)
        return prove(check, signature, keys)
      },
    }
  })
}

function unsigned({ acceptUnsigned }: Config): Verification {
  if (!acceptUnsigned) throw refusal('signature_missing')
  return { update() {}, end: (body) => when(toId(body), (id) => ({ id })) }
}

function prove(check: SignatureCheck, signature: Uint8Array, { count, flaw }: FoundKeys): Awaitable<Proof> {
  return when(check.end(signature), (keyIndex) => {
    // From `count` on, the keys are decoys.
    if (keyIndex < 0 || keyIndex >= count)
      throw refusal(count > 0 ? 'signature_mismatch' : 'key_unknown', flaw)
    // Whichever keys come and go, the same bytes signed with the same key keep the same id.
    return when(toId(signature), (id) => ({ id, keyIndex }))
  })
}

/** One-way, because the signature itself would let whoever reads an id send the body. 32 hex digits. */
const toId = (bytes: Uint8Array): Awaitable<string> => when(sha256(bytes), (hex) => hex.slice(0, 32))

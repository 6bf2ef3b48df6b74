import { importKey } from '#hmac'
import { WebhookError, type WebhookErrorOptions } from '../errors.ts'
import { bodyFormat } from '../payload/media-type.ts'
import { toHex, utf8 } from '../signature/bytes.ts'
import { decodeSignature } from '../signature/encoding.ts'
import { splitSignedForm } from '../signature/form-field.ts'
import { createKeyring, type Keyring, requireTrimmed } from '../signature/keyring.ts'
import { type SignatureCheck, startCheck } from '../signature/verify.ts'
import { attempt } from './attempt.ts'
import { readHeader } from './headers.ts'
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
  end(body: Uint8Array): Promise<Proof>
}

/**
 * Reads the signature from the header and finds the keys before the body is read, so that the body can be hashed
 * while it arrives. Only a form without the header may carry its signature at its end; nobody can choose to be let
 * through without one.
 *
 * @throws {WebhookError} `signature_missing`, `signature_malformed`, `key_unavailable`
 */
export async function startVerification(request: RequestHead, config: Config): Promise<Verification> {
  const decoded = decodeSignature(readHeader(request.headers, config.signatureHeader), config.encoding)
  if (decoded === 'signature_malformed') throw new WebhookError(decoded)
  const isMissing = decoded === 'signature_missing'
  if (isMissing && bodyFormat(readHeader(request.headers, 'content-type')) !== 'form') return unsigned(config)
  const keys = await findKeys(request, config)
  const check = startCheck(keys.keyring)
  if (!isMissing) return { update: check.update, end: () => prove(check, decoded, keys) }
  return {
    update() {},
    async end(body) {
      const form = splitSignedForm(body, config.signatureHeader)
      if (!form) return unsigned(config).end(body)
      const signature = decodeSignature(form.signature, config.encoding)
      if (typeof signature === 'string') throw new WebhookError(signature)
      check.update(form.signed)
      return prove(check, signature, keys)
    },
  }
}

/** The keys for one request; where there are none, why, and a random one, so that the answer takes as long. */
export interface FoundKeys {
  keyring: Keyring
  unknown?: WebhookError
}

/** @throws {WebhookError} `key_unavailable` */
export async function findKeys(request: RequestHead, { keys }: Config): Promise<FoundKeys> {
  if (typeof keys !== 'function') return keys.length > 0 ? { keyring: keys } : unknownKey()
  const found = await attempt('key_unavailable', () => keys(request))
  try {
    if (found === null || found === undefined || found.length === 0) return unknownKey()
    requireTrimmed(found)
    return { keyring: createKeyring(found) }
  } catch (cause) {
    // A key that cannot be right opens nothing, and the sender cannot tell it from one that is not there.
    return unknownKey({ message: (cause as Error).message, cause })
  }
}

const unknownKey = (why?: WebhookErrorOptions): FoundKeys => ({
  keyring: [importKey(crypto.getRandomValues(new Uint8Array(32)))],
  unknown: new WebhookError('key_unknown', why),
})

function unsigned({ acceptUnsigned }: Config): Verification {
  if (!acceptUnsigned) throw new WebhookError('signature_missing')
  return { update() {}, end: async (body) => ({ id: await toId(body) }) }
}

async function prove(check: SignatureCheck, signature: Uint8Array, { unknown }: FoundKeys): Promise<Proof> {
  const { keyIndex, digests } = await check.end(signature)
  if (unknown) throw unknown
  if (keyIndex < 0) throw new WebhookError('signature_mismatch')
  // Of the key that matched: whichever keys come and go, the same signed bytes keep the same id.
  return { id: await toId(digests[keyIndex] as Uint8Array), keyIndex }
}

const idKey = importKey(utf8('geohook delivery id'))

/** One-way, because the digest itself would let whoever reads an id sign the body. */
async function toId(bytes: Uint8Array): Promise<string> {
  const hmac = idKey.start()
  hmac.update(bytes)
  return toHex((await hmac.digest()).subarray(0, 16))
}

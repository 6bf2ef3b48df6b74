import { importKey } from '#hmac'
import { WebhookError } from '../errors.ts'
import { bodyFormat } from '../payload/media-type.ts'
import { toHex, utf8 } from '../signature/bytes.ts'
import { decodeSignature } from '../signature/encoding.ts'
import { splitSignedForm } from '../signature/form-field.ts'
import { createKeyring, type Keyring, requireTrimmed, type SignatureKeys } from '../signature/keyring.ts'
import { startCheck } from '../signature/verify.ts'
import { readHeader } from './headers.ts'
import type { Config } from './options.ts'
import { toWebhookError } from './outcome.ts'
import type { RequestHead } from './request.ts'

/** The proof of one request, fed with the body as it arrives. */
export interface Verification {
  update(chunk: Uint8Array): void
  /**
   * @returns the id of the delivery, and the key that matched
   * @throws {WebhookError} `signature_missing`, `signature_malformed`, `signature_mismatch`, `key_unknown`
   */
  end(body: Uint8Array): Promise<{ id: string; keyIndex?: number }>
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
  if (decoded !== 'signature_missing') {
    const keyring = await findKeys(request, config)
    const check = startCheck(orDecoy(keyring))
    return { update: check.update, end: async () => prove(await check.end(decoded), keyring) }
  }
  if (bodyFormat(readHeader(request.headers, 'content-type')) !== 'form') return unsigned(config)
  const keyring = await findKeys(request, config)
  return {
    update() {},
    async end(body) {
      const form = splitSignedForm(body, config.signatureHeader)
      if (!form) return unsigned(config).end(body)
      const signature = decodeSignature(form.signature, config.encoding)
      if (typeof signature === 'string') throw new WebhookError(signature)
      const check = startCheck(orDecoy(keyring))
      check.update(form.signed)
      return prove(await check.end(signature), keyring)
    },
  }
}

/** @throws {WebhookError} `key_unavailable` */
export async function findKeys(request: RequestHead, { keys }: Config): Promise<Keyring> {
  if (typeof keys !== 'function') return keys
  try {
    const { method, url, headers, params } = request
    const found = await keys(params ? { method, url, headers, params } : { method, url, headers })
    return found === null || found === undefined || found.length === 0 ? [] : importFound(found)
  } catch (error) {
    throw toWebhookError(error, 'key_unavailable')
  }
}

/** A key that cannot be right opens nothing. The sender learns no more than from a wrong signature. */
function importFound(found: SignatureKeys): Keyring {
  try {
    requireTrimmed(found)
    return createKeyring(found)
  } catch (cause) {
    throw new WebhookError('key_unknown', { message: (cause as Error).message, cause })
  }
}

function unsigned({ acceptUnsigned }: Config): Verification {
  if (!acceptUnsigned) throw new WebhookError('signature_missing')
  return { update() {}, end: async (body) => ({ id: await toId(body) }) }
}

/** A request that has no key is checked all the same, against a key that nobody knows: its answer takes as long. */
const orDecoy = (keyring: Keyring): Keyring => (keyring.length > 0 ? keyring : [importKey(randomKey())])

const randomKey = (): Uint8Array => crypto.getRandomValues(new Uint8Array(32))

async function prove(checked: { keyIndex: number; digests: Uint8Array[] }, keyring: Keyring) {
  if (keyring.length === 0) throw new WebhookError('key_unknown')
  if (checked.keyIndex < 0) throw new WebhookError('signature_mismatch')
  // The digest under the oldest key, so that the id survives a rotation between two attempts.
  return { id: await toId(checked.digests.at(-1) as Uint8Array), keyIndex: checked.keyIndex }
}

const idKey = importKey(utf8('geohook delivery id'))

/** One-way, because the digest itself would let whoever reads an id sign the body. */
async function toId(bytes: Uint8Array): Promise<string> {
  const hmac = idKey.start()
  hmac.update(bytes)
  return toHex((await hmac.digest()).subarray(0, 16))
}

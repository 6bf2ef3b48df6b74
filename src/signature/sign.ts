import { configInvalid } from '../errors.ts'
import { type Body, toBytes } from './bytes.ts'
import { encodeSignature, requireEncoding } from './encoding.ts'
import { createKeyring, type SignatureKey } from './keyring.ts'

/** What {@link sign} takes. */
export interface SignOptions {
  /** The exact bytes that are sent; a string means its UTF-8 bytes. */
  body: Body
  /** The shared secret; not empty, not blank, not all zero bytes. */
  signatureKey: SignatureKey
  /** How to write the 32 bytes. Default `'hex'`, in lower case. */
  encoding?: 'hex' | 'base64' | undefined
  /** Written before the signature, for example `'sha256='`. Default `''`. */
  prefix?: string | undefined
}

/**
 * HMAC-SHA256 over the body (specification, "Payload signature verification", step 2; RFC 2104), as a header value.
 *
 * @throws {WebhookError} `config_invalid` for an empty key, one of zero bytes, or an unknown encoding, `body_already_parsed` for a parsed body
 * @example
 * ```ts
 * import { sign } from 'geohook'
 *
 * await sign({ body: '{"events":[]}', signatureKey: 'parcels2026' })
 * ```
 */
export async function sign({
  body,
  signatureKey,
  encoding = 'hex',
  prefix = '',
}: SignOptions): Promise<string> {
  requireEncoding(encoding, ['hex', 'base64'])
  if (typeof prefix !== 'string') throw configInvalid('prefix must be a string')
  const [key] = createKeyring([signatureKey])
  const hmac = key!.start()
  hmac.update(toBytes(body))
  return encodeSignature(await hmac.digest(), encoding, prefix)
}

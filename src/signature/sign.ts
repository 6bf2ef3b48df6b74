import { configInvalid } from '../errors.ts'
import { type OptionNames, requireKnownOptions } from '../known-options.ts'
import { type Body, toBytes } from './bytes.ts'
import { encodeSignature, requireEncoding } from './encoding.ts'
import { createKeyring, type SignatureKey } from './keyring.ts'

/** Options of {@link sign}. */
export interface SignOptions {
  /** The exact bytes to send; a string means its UTF-8 bytes. */
  body: Body
  /** The shared secret. It must not be empty, blank, or all zero bytes. */
  signatureKey: SignatureKey
  /** Encoding of the signature. Default `'hex'`, in lower case. */
  encoding?: 'hex' | 'base64' | undefined
  /** Prefix of the signature, for example `'sha256='`. Default `''`. */
  prefix?: string | undefined
}

const NAMES: OptionNames<SignOptions> = { body: true, signatureKey: true, encoding: true, prefix: true }

/**
 * Computes the signature of a body: HMAC-SHA256 (RFC 2104; docs/specification.md, "Signature", step 2), encoded as a
 * header value.
 *
 * @throws {WebhookError} `config_invalid` for an unknown option, or an invalid key, encoding or prefix; `body_already_parsed` for a body
 *   that is neither bytes nor a string
 * @example
 * ```ts
 * import { sign } from 'geohook'
 *
 * await sign({ body: '{"events":[]}', signatureKey: 'parcels2026' })
 * ```
 */
export async function sign(options: SignOptions): Promise<string> {
  requireKnownOptions(options, NAMES)
  const { body, signatureKey, encoding = 'hex', prefix = '' } = options
  requireEncoding(encoding, ['hex', 'base64'])
  if (typeof prefix !== 'string') throw configInvalid('prefix must be a string')
  const [key] = createKeyring([signatureKey])
  return encodeSignature(await key!.start().digest(toBytes(body)), encoding, prefix)
}

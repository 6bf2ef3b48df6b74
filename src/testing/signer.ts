import { configInvalid } from '../errors.ts'
import { concat, toBytes, utf8 } from '../signature/bytes.ts'
import { requireEncoding } from '../signature/encoding.ts'
import { createKeyring, type SignatureKey } from '../signature/keyring.ts'
import { sign } from '../signature/sign.ts'

/** What {@link createSigner} takes. */
export interface SignerOptions {
  /** The shared secret; not empty, not blank. */
  signatureKey: SignatureKey
  /** The header (or form field) for the signature. Default `'x-service'`. */
  signatureHeader?: string | undefined
  /** Default `'hex'`. */
  encoding?: 'hex' | 'base64' | undefined
  /** Written before the signature, for example `'sha256='`. Default `''`. */
  prefix?: string | undefined
  /** Default `'application/json'`. A form carries the JSON in its field `payload`. */
  contentType?: 'application/json' | 'application/x-www-form-urlencoded' | undefined
  /** `'field'` puts the signature at the end of a form, as some senders do. Default `'header'`. */
  signatureIn?: 'header' | 'field' | undefined
  /** `'pjson'` indents the JSON. Default `'json'`. */
  payloadFormat?: 'json' | 'pjson' | undefined
}

/** A request as a service would send it: give it to `fetch`, supertest, or your server's inject function. */
export interface SignedRequest {
  method: 'POST'
  headers: Record<string, string>
  body: Uint8Array<ArrayBuffer>
}

/** Makes signed requests. */
export interface Signer {
  /**
   * @param payload an object or array is written as JSON; a string is sent as it is (in a form, as the field's
   *   value); bytes are the exact body, but for a signature in a field, which is added at their end
   * @throws {WebhookError} `config_invalid` for what JSON does not know, for example `undefined`
   */
  sign(payload: unknown): Promise<SignedRequest>
}

const FORM = 'application/x-www-form-urlencoded'
const EQUALS = 0x3d

/**
 * Signs requests like a service, so that your own tests can send deliveries to your receiver.
 *
 * @throws {WebhookError} `config_invalid` for an empty key or an unknown encoding
 * @example
 * ```ts
 * import { createSigner, createPayload } from 'geohook/testing'
 *
 * const signer = createSigner({ signatureKey: 'parcels2026' })
 * const request = await signer.sign(createPayload('FeaturesCreated', { serviceName: 'Parcels' }))
 * console.log(request.headers['x-service']) // fetch(hookUrl, request) delivers it
 * ```
 */
export function createSigner(options: SignerOptions): Signer {
  const { signatureKey, signatureHeader = 'x-service', encoding = 'hex', prefix } = options
  const { contentType = 'application/json', signatureIn = 'header' } = options
  createKeyring([signatureKey])
  requireEncoding(encoding, ['hex', 'base64'])

  const signatureOf = (body: Uint8Array): Promise<string> => sign({ body, signatureKey, encoding, prefix })

  return {
    async sign(payload) {
      const body = writeBody(payload, options)
      const headers: Record<string, string> = { 'content-type': contentType }
      if (contentType === FORM && signatureIn === 'field') {
        const signed = body.subarray(body.indexOf(EQUALS) + 1)
        // Percent-encoded in lower case, as such senders write it.
        const signature = encodeURIComponent(await signatureOf(signed)).replace(/%../g, (code) =>
          code.toLowerCase(),
        )
        return { method: 'POST', headers, body: concat([body, utf8(`&${signatureHeader}=${signature}`)]) }
      }
      headers[signatureHeader] = await signatureOf(body)
      return { method: 'POST', headers, body }
    },
  }
}

/** The body that carries a payload. */
export function writeBody(
  payload: unknown,
  { contentType, payloadFormat }: Pick<SignerOptions, 'contentType' | 'payloadFormat'>,
): Uint8Array<ArrayBuffer> {
  if (payload instanceof Uint8Array || payload instanceof ArrayBuffer)
    return Uint8Array.from(toBytes(payload))
  const text =
    typeof payload === 'string' ? payload : JSON.stringify(payload, null, payloadFormat === 'pjson' ? 2 : 0)
  if (text === undefined) throw configInvalid('the payload cannot be written as JSON')
  return utf8(contentType === FORM ? new URLSearchParams({ payload: text }).toString() : text)
}

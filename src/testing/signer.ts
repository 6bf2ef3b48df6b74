import { configInvalid, WebhookError } from '../errors.ts'
import { concat, toBinary, toBytes, utf8 } from '../signature/bytes.ts'
import { encodeSignature, requireEncoding } from '../signature/encoding.ts'
import { createKeyring, type SignatureKey } from '../signature/keyring.ts'
import { requireOneOf } from './checks.ts'
import { percentEncode } from './percent-encode.ts'

/** What {@link createSigner} takes. */
export interface SignerOptions {
  /** The shared secret; not empty, not blank, not all zero bytes. */
  signatureKey: SignatureKey
  /** The header (or form field) for the signature. Default `'x-service'`. */
  signatureHeader?: string | undefined
  /** Default `'hex'`. */
  encoding?: 'hex' | 'base64' | undefined
  /** Written before the signature, for example `'sha256='`. Default `''`. */
  prefix?: string | undefined
  /** Default `'application/json'`. A form carries the JSON in its field `payload`. */
  contentType?: 'application/json' | 'application/x-www-form-urlencoded' | undefined
  /** `'field'` puts the signature at the end of a form, as some senders do; JSON has no fields, so there it stays in the header. Default `'header'`. */
  signatureIn?: 'header' | 'field' | undefined
  /** Percent-encodes the signature in the header, with lower-case hex (`sha256%3d…`); in a field it always is. Default false. */
  percentEncoded?: boolean | undefined
  /** `'plain'` puts the payload into a form without percent-encoding, as some senders do. Default `'encoded'`. */
  formPayload?: 'encoded' | 'plain' | undefined
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
   * @throws {WebhookError} `config_invalid` for what JSON does not know, for example `undefined`, and for bytes that
   *   do not begin with `payload=` where the signature goes into a field
   */
  sign(payload: unknown): Promise<SignedRequest>
}

const JSON_TYPE = 'application/json'
const FORM_TYPE = 'application/x-www-form-urlencoded'
const PAYLOAD = 'payload='

/**
 * Signs requests like a service, so that your own tests can send deliveries to your receiver.
 *
 * @param options the key, and how the sender writes the body and the signature
 * @throws {WebhookError} `config_invalid` for an empty key, and for every other option that cannot be right
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
  const seal = createSeal(options)
  return { sign: async (payload) => seal(writeBody(payload, options)) }
}

/** Signs a body. If the signature goes into a header, the request refers to this body, not to a copy. */
export type Seal = (body: Uint8Array<ArrayBuffer>) => Promise<SignedRequest>

/** @throws {WebhookError} `config_invalid` */
export function createSeal(options: SignerOptions): Seal {
  requireOptions(options)
  const { signatureKey, signatureHeader = 'x-service', encoding = 'hex', prefix = '' } = options
  const { contentType = JSON_TYPE, signatureIn = 'header', percentEncoded = false } = options
  const isInField = contentType === FORM_TYPE && signatureIn === 'field'
  const [key] = createKeyring([signatureKey])

  /** The request, with its signature. */
  function write(body: Uint8Array<ArrayBuffer>, digest: string): SignedRequest {
    const headers: Record<string, string> = { 'content-type': contentType }
    const signature = encodeSignature(digest, encoding, prefix)
    if (isInField) {
      const field = utf8(`&${signatureHeader}=${percentEncode(signature)}`)
      return { method: 'POST', headers, body: concat([body, field]) }
    }
    headers[signatureHeader] = percentEncoded ? percentEncode(signature) : signature
    return { method: 'POST', headers, body }
  }

  return async (body) => {
    const hmac = key!.start()
    hmac.update(isInField ? payloadField(body) : body)
    return write(body, await hmac.digest())
  }
}

/** The body that carries a payload. */
export function writeBody(
  payload: unknown,
  {
    contentType,
    payloadFormat,
    formPayload,
  }: Pick<SignerOptions, 'contentType' | 'payloadFormat' | 'formPayload'>,
): Uint8Array<ArrayBuffer> {
  if (payload instanceof Uint8Array || payload instanceof ArrayBuffer)
    return Uint8Array.from(toBytes(payload))
  const text = typeof payload === 'string' ? payload : toJson(payload, payloadFormat === 'pjson' ? 2 : 0)
  if (contentType !== FORM_TYPE) return utf8(text)
  return utf8(formPayload === 'plain' ? PAYLOAD + text : new URLSearchParams({ payload: text }).toString())
}

/** @throws {WebhookError} `config_invalid` for what JSON does not know */
function toJson(payload: unknown, indent: number): string {
  let text: string | undefined
  let cause: unknown
  try {
    text = JSON.stringify(payload, null, indent)
  } catch (error) {
    cause = error // it refers to itself, holds a bigint, or has a toJSON() that throws
  }
  if (text !== undefined) return text
  throw new WebhookError('config_invalid', { message: 'the payload cannot be written as JSON', cause })
}

/** The bytes behind `payload=`, which a signature in a field covers. */
function payloadField(body: Uint8Array): Uint8Array {
  if (toBinary(body.subarray(0, PAYLOAD.length)) === PAYLOAD) return body.subarray(PAYLOAD.length)
  throw configInvalid('a body with its signature in a field must begin with payload=')
}

/** @throws {WebhookError} `config_invalid` */
function requireOptions(options: SignerOptions): void {
  const { signatureKey, signatureHeader = 'x-service', encoding = 'hex', prefix = '' } = options
  const { contentType = JSON_TYPE, signatureIn = 'header', percentEncoded = false } = options
  createKeyring([signatureKey])
  requireEncoding(encoding, ['hex', 'base64'])
  requireOneOf('contentType', contentType, [JSON_TYPE, FORM_TYPE])
  requireOneOf('signatureIn', signatureIn, ['header', 'field'])
  requireOneOf('payloadFormat', options.payloadFormat ?? 'json', ['json', 'pjson'])
  requireOneOf('formPayload', options.formPayload ?? 'encoded', ['encoded', 'plain'])
  if (typeof prefix !== 'string') throw configInvalid('prefix must be a string')
  if (typeof percentEncoded !== 'boolean') throw configInvalid('percentEncoded must be true or false')
  // The token of RFC 9110 section 5.6.2, without the ampersand, which would begin another form field.
  if (typeof signatureHeader !== 'string' || !/^[\w!#$%'*+.^`|~-]+$/.test(signatureHeader))
    throw configInvalid('signatureHeader is no header name')
}

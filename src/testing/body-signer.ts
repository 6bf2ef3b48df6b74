import { configInvalid, WebhookError } from '../errors.ts'
import { concat, toBinary, utf8 } from '../signature/bytes.ts'
import { createKeyring, type SignatureKey } from '../signature/keyring.ts'
import {
  DEFAULT_SIGNATURE_HEADER,
  encodeSignature,
  requireEncoding,
  requireHeaderName,
} from '../signature/signature.ts'
import { requireOneOf } from './checks.ts'
import { percentEncode } from './percent-encode.ts'

/** Options of `createSigner`. */
export interface SignerOptions {
  /** The shared secret. It must not be empty, blank, or all zero bytes. */
  signatureKey: SignatureKey
  /** The header or form field for the signature. Default `'x-service'`. */
  signatureHeader?: string | undefined
  /** Encoding of the signature. Default `'hex'`. */
  encoding?: 'hex' | 'base64' | undefined
  /** Prefix of the signature, for example `'sha256='`. Default `''`. */
  prefix?: string | undefined
  /** Media type of the body. In a form, the `payload` field contains the JSON. Default `'application/json'`. */
  contentType?: 'application/json' | 'application/x-www-form-urlencoded' | undefined
  /**
   * `'field'` appends the signature to a form as its last field, as some senders do. It has no effect on JSON bodies.
   * Default `'header'`.
   */
  signatureIn?: 'header' | 'field' | undefined
  /**
   * Percent-encodes the signature in the header, with lower-case hex digits (`sha256%3d…`). Signatures in a field
   * are always percent-encoded. Default false.
   */
  percentEncoded?: boolean | undefined
  /** `'plain'` writes the payload into a form without percent-encoding, as some senders do. Default `'encoded'`. */
  formPayload?: 'encoded' | 'plain' | undefined
  /** `'pjson'` indents the JSON by two spaces. Default `'json'`. */
  payloadFormat?: 'json' | 'pjson' | undefined
}

/** A request whose body is bytes. */
export interface RawRequest {
  method: 'POST'
  headers: Record<string, string>
  body: Uint8Array<ArrayBuffer>
}

const JSON_TYPE = 'application/json'
const FORM_TYPE = 'application/x-www-form-urlencoded'
const PAYLOAD = 'payload='

/** Signs a body. If the signature goes into a header, the request contains this body itself, not a copy. */
export type BodySigner = (body: Uint8Array<ArrayBuffer>) => Promise<RawRequest>

/** @throws {WebhookError} `config_invalid` */
export function createBodySigner(options: SignerOptions): BodySigner {
  const { signatureKey, signatureHeader = DEFAULT_SIGNATURE_HEADER, encoding = 'hex', prefix = '' } = options
  const { contentType = JSON_TYPE, signatureIn = 'header', percentEncoded = false } = options
  const [key] = createKeyring([signatureKey])
  requireEncoding(encoding, ['hex', 'base64'])
  requireOneOf('contentType', contentType, [JSON_TYPE, FORM_TYPE])
  requireOneOf('signatureIn', signatureIn, ['header', 'field'])
  requireOneOf('payloadFormat', options.payloadFormat ?? 'json', ['json', 'pjson'])
  requireOneOf('formPayload', options.formPayload ?? 'encoded', ['encoded', 'plain'])
  if (typeof prefix !== 'string') throw configInvalid('prefix must be a string')
  if (typeof percentEncoded !== 'boolean') throw configInvalid('percentEncoded must be true or false')
  // In a form, an ampersand in the field name would start another field.
  if (requireHeaderName(signatureHeader).includes('&'))
    throw configInvalid('signatureHeader must not contain an ampersand')

  const isInField = contentType === FORM_TYPE && signatureIn === 'field'
  return async (body) => {
    const digest = await key!.start().digest(isInField ? payloadField(body) : body)
    const signature = encodeSignature(digest, encoding, prefix)
    const headers: Record<string, string> = { 'content-type': contentType }
    if (isInField) {
      const field = utf8(`&${signatureHeader}=${percentEncode(signature)}`)
      return { method: 'POST', headers, body: concat([body, field]) }
    }
    headers[signatureHeader] = percentEncoded ? percentEncode(signature) : signature
    return { method: 'POST', headers, body }
  }
}

/** Serializes a payload as the body. */
export function writeBody(
  payload: unknown,
  {
    contentType,
    payloadFormat,
    formPayload,
  }: Pick<SignerOptions, 'contentType' | 'payloadFormat' | 'formPayload'>,
): Uint8Array<ArrayBuffer> {
  if (ArrayBuffer.isView(payload))
    return new Uint8Array(payload.buffer, payload.byteOffset, payload.byteLength).slice()
  if (payload instanceof ArrayBuffer) return new Uint8Array(payload).slice()
  const text = typeof payload === 'string' ? payload : toJson(payload, payloadFormat === 'pjson' ? 2 : 0)
  if (contentType !== FORM_TYPE) return utf8(text)
  return utf8(formPayload === 'plain' ? PAYLOAD + text : new URLSearchParams({ payload: text }).toString())
}

/** @throws {WebhookError} `config_invalid` for values that JSON cannot represent */
function toJson(payload: unknown, indent: number): string {
  let text: string | undefined
  let cause: unknown
  try {
    text = JSON.stringify(payload, null, indent)
  } catch (error) {
    cause = error // a circular reference, a bigint, or a toJSON() that throws
  }
  if (text !== undefined) return text
  throw new WebhookError('config_invalid', { message: 'the payload cannot be written as JSON', cause })
}

/** Returns the bytes after `payload=`: the part that a signature in a field covers. */
function payloadField(body: Uint8Array): Uint8Array {
  if (toBinary(body.subarray(0, PAYLOAD.length)) === PAYLOAD) return body.subarray(PAYLOAD.length)
  throw configInvalid('if the signature goes into a field, the body must start with payload=')
}

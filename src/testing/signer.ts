import { configInvalid, WebhookError } from '../errors.ts'
import { checkOptions, isBoolean, isText, type OptionNames, oneOf } from '../options.ts'
import { concat, toBinary, utf8 } from '../shared/bytes.ts'
import { createKeyring, type SignatureKey } from '../signature/keyring.ts'
import { DEFAULT_SIGNATURE_HEADER } from '../signature/profiles.ts'
import { encodeSignature, requireHeaderName } from '../signature/signature.ts'

/**
 * A request like those of a service. `fetch`, undici, `new Request()` and `app.request()` of Hono and h3 accept it as
 * it is. For other clients, pass its members: `.set(headers).send(body)` of supertest, `payload: body` of Fastify's
 * `inject()`.
 */
export interface SignedRequest<Body = string | Uint8Array<ArrayBuffer>> {
  method: 'POST'
  headers: Record<string, string>
  /**
   * The body as text, which every client encodes to exactly `bytes`. Only a body that is not valid UTF-8 is bytes here
   * too: on Node a Buffer, because `inject()` would serialize a plain Uint8Array. supertest would serialize both, so
   * send that body with `.serialize((body) => body).send(body)`.
   */
  body: Body
  /** The exact bytes of the body, over which the signature was computed. */
  bytes: Uint8Array<ArrayBuffer>
}

/** Creates signed requests. */
export interface Signer {
  /**
   * Signs bytes, which are sent as the complete body; at most a signature field is appended.
   *
   * @throws {WebhookError} `config_invalid` for bytes that do not start with `payload=` if the signature goes into a
   *   field
   */
  sign(body: Uint8Array | ArrayBuffer): Promise<SignedRequest>
  /**
   * Writes and signs one request.
   *
   * @param payload an object or array is serialized as JSON. A string is sent unchanged; in a form, it becomes the
   *   value of the field `payload`
   * @throws {WebhookError} `config_invalid` for a value that JSON cannot represent, such as `undefined`
   */
  sign(payload: unknown): Promise<SignedRequest<string>>
}

/**
 * Creates a signer, which signs requests as a service does. Your tests can use it to send deliveries to your receiver.
 *
 * @param options the key, and how the sender writes the body and the signature
 * @throws {WebhookError} `config_invalid` for an invalid key or another invalid or unknown option
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
  const signBody = createBodySigner(options)

  async function sign(payload: unknown): Promise<SignedRequest<string>> {
    const { method, headers, body: bytes } = await signBody(writeBody(payload, options))
    return { method, headers, body: toClientBody(bytes) as string, bytes }
  }

  return { sign }
}

const strictUtf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Returns the text that encodes to exactly these bytes, or the bytes if they are not valid UTF-8. */
function toClientBody(bytes: Uint8Array<ArrayBuffer>): string | Uint8Array<ArrayBuffer> {
  try {
    return strictUtf8.decode(bytes)
  } catch {
    // Workers and Deno have no global Buffer.
    return globalThis.Buffer ? Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length) : bytes
  }
}

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

const NAMES: OptionNames<SignerOptions> = {
  signatureKey: true,
  signatureHeader: true,
  encoding: oneOf('hex', 'base64'),
  prefix: isText,
  contentType: oneOf(JSON_TYPE, FORM_TYPE),
  signatureIn: oneOf('header', 'field'),
  percentEncoded: isBoolean,
  formPayload: oneOf('encoded', 'plain'),
  payloadFormat: oneOf('json', 'pjson'),
}

/** @throws {WebhookError} `config_invalid` */
export function createBodySigner(options: SignerOptions): BodySigner {
  const {
    signatureKey,
    signatureHeader = DEFAULT_SIGNATURE_HEADER,
    encoding = 'hex',
    prefix = '',
    contentType = JSON_TYPE,
    signatureIn,
    percentEncoded,
  } = checkOptions(options, NAMES)
  const [key] = createKeyring([signatureKey])
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

/**
 * Percent-encodes a text with lower-case hex digits, as some senders encode URLs and signatures (docs/senders.md,
 * "Signature" and "Payloads"). `encodeURIComponent` writes upper-case digits.
 *
 * @throws {WebhookError} `config_invalid` for a lone surrogate, which UTF-8 cannot represent
 */
export function percentEncode(text: string): string {
  try {
    return encodeURIComponent(text).replace(/%../g, (code) => code.toLowerCase())
  } catch (cause) {
    throw new WebhookError('config_invalid', {
      message: 'text with a lone surrogate cannot be percent-encoded',
      cause,
    })
  }
}

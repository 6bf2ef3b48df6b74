import { type OptionNames, requireKnownOptions } from '../options.ts'
import { createBodySigner, type SignerOptions, writeBody } from './body-signer.ts'

export type { SignerOptions } from './body-signer.ts'

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

const NAMES: OptionNames<SignerOptions> = {
  signatureKey: true,
  signatureHeader: true,
  encoding: true,
  prefix: true,
  contentType: true,
  signatureIn: true,
  percentEncoded: true,
  formPayload: true,
  payloadFormat: true,
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
  requireKnownOptions(options, NAMES)
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

import { WebhookError } from '../errors.ts'

/** A body as users hold it. A string means its UTF-8 bytes. */
export type Body = Uint8Array | ArrayBuffer | string

const encoder = new TextEncoder()

/** The UTF-8 bytes of a text. */
export const utf8 = (text: string): Uint8Array<ArrayBuffer> => encoder.encode(text)

/**
 * The bytes of a body, without a copy where there are bytes already.
 *
 * @throws {WebhookError} `body_already_parsed` for anything else: the bytes of a parsed object are gone, and making new
 *   ones from it would verify something that was never sent.
 */
export function toBytes(body: Body): Uint8Array {
  if (typeof body === 'string') return utf8(body)
  if (body instanceof Uint8Array) return body
  // Not `instanceof ArrayBuffer`: one from another realm (a worker, a test runner's vm) is as good.
  if ({}.toString.call(body) === '[object ArrayBuffer]') return new Uint8Array(body)
  throw new WebhookError('body_already_parsed', { message: `body is a ${typeof body}, not bytes` })
}

/** Lower-case hex. */
export const toHex = (bytes: Uint8Array | ArrayBuffer): string =>
  Array.from(new Uint8Array(bytes), (byte) => (byte + 256).toString(16).slice(1)).join('')

/** Standard base64 with padding (RFC 4648 section 4). */
export const toBase64 = (bytes: Uint8Array): string => btoa(toBinary(bytes))

/** One character for each byte, so that bytes can be searched and replaced as text without loss. */
export function toBinary(bytes: Uint8Array): string {
  let binary = ''
  for (const byte of bytes) binary += String.fromCharCode(byte)
  return binary
}

/** The bytes of such a text. */
export function fromBinary(binary: string): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(binary.length)
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i)
  return bytes
}

/** One array of all the chunks; the chunk itself where there is only one. */
export function concat(chunks: readonly Uint8Array<ArrayBufferLike>[]): Uint8Array<ArrayBuffer> {
  if (chunks.length === 1) return chunks[0] as Uint8Array<ArrayBuffer>
  const whole = new Uint8Array(chunks.reduce((length, chunk) => length + chunk.length, 0))
  let offset = 0
  for (const chunk of chunks) {
    whole.set(chunk, offset)
    offset += chunk.length
  }
  return whole
}

import { WebhookError } from '../errors.ts'

/** A request body. A string means its UTF-8 bytes. */
export type Body = Uint8Array | ArrayBuffer | string

const encoder = /* @__PURE__ */ new TextEncoder()

/** Encodes text as UTF-8. */
export const utf8 = (text: string): Uint8Array<ArrayBuffer> => encoder.encode(text)

/**
 * Returns the bytes of a body. A body that already is bytes is not copied.
 *
 * @throws {WebhookError} `body_already_parsed` for anything else, such as a parsed object: serializing it would yield
 *   different bytes from those that the sender signed
 */
export function toBytes(body: Body): Uint8Array {
  if (typeof body === 'string') return utf8(body)
  if (body instanceof Uint8Array) return body
  // `instanceof ArrayBuffer` would be false for a buffer from another realm, such as a test runner's vm context.
  if ({}.toString.call(body) === '[object ArrayBuffer]') return new Uint8Array(body)
  throw new WebhookError('body_already_parsed', {
    message: `the body must be bytes or a string, but its type is ${typeof body}`,
  })
}

/** Encodes bytes in lower-case hex. */
export const toHex = (bytes: Uint8Array | ArrayBuffer): string =>
  Array.from(new Uint8Array(bytes), (byte) => (byte + 256).toString(16).slice(1)).join('')

/** Encodes bytes in standard base64 with padding (RFC 4648 section 4). */
export const toBase64 = (bytes: Uint8Array): string => btoa(toBinary(bytes))

/**
 * Converts bytes to a binary string (one character per byte), in which text functions can search and replace without
 * loss.
 */
export function toBinary(bytes: Uint8Array): string {
  let binary = ''
  for (const byte of bytes) binary += String.fromCharCode(byte)
  return binary
}

/** Converts a binary string back to bytes. */
export function fromBinary(binary: string): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(binary.length)
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i)
  return bytes
}

/** Concatenates chunks. A single chunk is returned without a copy. */
export function concat(chunks: readonly Uint8Array<ArrayBufferLike>[]): Uint8Array<ArrayBuffer> {
  if (chunks.length === 1) return chunks[0] as Uint8Array<ArrayBuffer>
  const joined = new Uint8Array(chunks.reduce((length, chunk) => length + chunk.length, 0))
  let offset = 0
  for (const chunk of chunks) {
    joined.set(chunk, offset)
    offset += chunk.length
  }
  return joined
}

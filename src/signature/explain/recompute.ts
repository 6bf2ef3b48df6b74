import { toBase64, toHex } from '../bytes.ts'
import type { Cause } from './causes.ts'

/** A cause that recomputing has proved, and a sentence that says how. */
export interface Finding {
  cause: Cause
  evidence: string
}

/** What may have been signed, or signed with, in place of what is here: the bytes, and what they are. */
export type Variant = readonly [bytes: Uint8Array, what: string]

/**
 * HMAC by WebCrypto, which every platform has. An empty key is the same as a zero byte, because short keys are filled up
 * with zeros (RFC 2104).
 */
export async function hmac(hash: string, key: Uint8Array, body: Uint8Array): Promise<Uint8Array> {
  const bytes = key.length > 0 ? key : new Uint8Array(1)
  const imported = await crypto.subtle.importKey('raw', view(bytes), { name: 'HMAC', hash }, false, ['sign'])
  return new Uint8Array(await crypto.subtle.sign('HMAC', imported, view(body)))
}

/** HMAC-SHA256: what services sign with. */
export const mac = (key: Uint8Array, body: Uint8Array): Promise<Uint8Array> => hmac('SHA-256', key, body)

/** As WebCrypto's types want bytes: not in memory that threads share, where no body ever is. */
export const view = (bytes: Uint8Array): Uint8Array<ArrayBuffer> => bytes as Uint8Array<ArrayBuffer>

/** Whether a text is this digest in hex or base64, as a receiver would take it. */
export function isWriting(text: string, digest: Uint8Array): boolean {
  if (text.length > 100) return false
  const bare = text.replace(/^sha256=/, '')
  const base64 = toBase64(digest)
  return bare.toLowerCase() === toHex(digest) || bare === base64 || bare === base64.replaceAll('=', '')
}

/** Whether this digest, in hex or base64, is anywhere in a text. A digest is too long to be there by chance. */
export function holds(text: string, digest: Uint8Array): boolean {
  return text.toLowerCase().includes(toHex(digest)) || text.includes(toBase64(digest).replaceAll('=', ''))
}

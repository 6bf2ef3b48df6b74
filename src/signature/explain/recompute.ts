import { toBase64, toHex } from '../bytes.ts'

/** Computes an HMAC-SHA256, the algorithm that services sign with. */
export const hmacSha256 = (key: Uint8Array, body: Uint8Array): Promise<Uint8Array> =>
  hmac('SHA-256', key, body)

/**
 * Computes an HMAC with WebCrypto, which all platforms have. WebCrypto rejects an empty key, so it is replaced by one
 * zero byte. The result is the same, because HMAC pads short keys with zeros (RFC 2104).
 */
export async function hmac(hash: string, key: Uint8Array, body: Uint8Array): Promise<Uint8Array> {
  const bytes = key.length > 0 ? key : new Uint8Array(1)
  const algorithm = { name: 'HMAC', hash }
  const imported = await crypto.subtle.importKey('raw', toSource(bytes), algorithm, false, ['sign'])
  return new Uint8Array(await crypto.subtle.sign('HMAC', imported, toSource(body)))
}

/** Computes a plain hash, without a key. */
export const hashOf = async (hash: string, bytes: Uint8Array): Promise<Uint8Array> =>
  new Uint8Array(await crypto.subtle.digest(hash, toSource(bytes)))

/**
 * Narrows the type, because WebCrypto does not accept bytes in shared memory. Bodies and keys are never in shared
 * memory.
 */
const toSource = (bytes: Uint8Array): Uint8Array<ArrayBuffer> => bytes as Uint8Array<ArrayBuffer>

/** Returns true if the text is this digest, in any hex or base64 notation that the receiver accepts. */
export function isDigest(text: string, digest: Uint8Array): boolean {
  if (text.length > 100) return false
  const bare = text.replace(/^sha256=/, '')
  const base64 = toBase64(digest)
  return bare.toLowerCase() === toHex(digest) || bare === base64 || bare === base64.replaceAll('=', '')
}

/**
 * Returns true if the text contains this digest in hex or base64. A digest is too long to occur in the text by chance.
 */
export function containsDigest(text: string, digest: Uint8Array): boolean {
  return text.toLowerCase().includes(toHex(digest)) || text.includes(toBase64(digest).replaceAll('=', ''))
}

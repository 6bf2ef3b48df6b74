import { toHex } from './bytes.ts'
import type { Hmac, HmacKey } from './hmac.ts'

/** Imports a key for HMAC in workers, edge runtimes and browsers. */
export function importKey(key: Uint8Array | string): HmacKey {
  const copy = typeof key === 'string' ? new TextEncoder().encode(key) : new Uint8Array(key) // a copy; slice() would not copy a Buffer
  let imported: Promise<CryptoKey> | undefined
  const toKey = () =>
    (imported ??= crypto.subtle.importKey('raw', copy, { name: 'HMAC', hash: 'SHA-256' }, false, [
      'sign',
      'verify',
    ]))
  return {
    length: copy.length,
    start: (): Hmac => ({
      update() {}, // WebCrypto can sign only a complete message
      digest: async (message) =>
        toHex(await crypto.subtle.sign('HMAC', await toKey(), message as BufferSource)),
      // Compares in constant time (Web Cryptography API, section 31.6.2).
      matches: async (message, signature) =>
        crypto.subtle.verify('HMAC', await toKey(), signature as BufferSource, message as BufferSource),
    }),
  }
}

export const isSync: boolean = false

export const sha256 = async (bytes: Uint8Array): Promise<string> =>
  toHex(await crypto.subtle.digest('SHA-256', bytes as Uint8Array<ArrayBuffer>))

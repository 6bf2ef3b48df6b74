import { toHex } from '../shared/bytes.ts'
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
    fingerprint: async () => (await sha256(copy)).slice(0, 4),
  }
}

export const isSync: boolean = false

export const sha256 = async (bytes: Uint8Array): Promise<string> =>
  toHex(await crypto.subtle.digest('SHA-256', bytes as Uint8Array<ArrayBuffer>))

/**
 * Returns immediately, because outside Node a delay would fail requests: Bun would not respond to pipelined requests,
 * and Cloudflare Workers cannot share a promise between requests.
 */
export function endOfTick(): void {}

/** Returns false. Outside Node, it is unknown how much of a body has arrived. */
export const bodyArrives = (_request: object, _context: unknown, _length: number): boolean => false

/** Does nothing. Outside Node, the platform ends the request when its body is cancelled. */
export const drainWebRequest = (_request: object, _context: unknown, _limit: number): undefined => undefined

/** Does nothing. Outside Node, the platform manages its streams. */
export const watchWebRequest = (_request: object, _context: unknown): void => {}

/** Returns false. Outside Node, the platform manages its connections. */
export const isClosingWebRequest = (_request: object, _context: unknown): boolean => false

/** Returns the text of a thrown value. Outside Node, the errors of `fetch` have no causes with codes and addresses. */
export const withCauses = (thrown: unknown, text: string = String(thrown)): string => text

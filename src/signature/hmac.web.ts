import { concat, utf8 } from './bytes.ts'
import type { Hmac, HmacKey } from './hmac.ts'

const HMAC_SHA256 = { name: 'HMAC', hash: 'SHA-256' }

/** Workers, edge runtimes and browsers: WebCrypto, which signs a whole message only, so the chunks wait for the end. */
export function importKey(key: Uint8Array | string): HmacKey {
  const copy = typeof key === 'string' ? utf8(key) : new Uint8Array(key) // Buffer's slice() would be a view
  let imported: Promise<CryptoKey> | undefined
  return {
    start(): Hmac {
      const chunks: Uint8Array[] = []
      return {
        update: (chunk) => void chunks.push(chunk),
        async digest() {
          imported ??= crypto.subtle.importKey('raw', copy, HMAC_SHA256, false, ['sign'])
          return new Uint8Array(await crypto.subtle.sign('HMAC', await imported, concat(chunks)))
        },
      }
    },
  }
}

/** WebCrypto has no comparison, so every byte is looked at and the differences are gathered without a branch. */
export function equalBytes(a: Uint8Array, b: Uint8Array): boolean {
  let difference = a.length ^ b.length
  for (let i = 0; i < a.length; i++) difference |= (a[i] as number) ^ (b[i] ?? 0)
  return difference === 0
}

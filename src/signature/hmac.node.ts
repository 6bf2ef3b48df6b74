import { createHmac, createSecretKey, timingSafeEqual } from 'node:crypto'
import type { Hmac, HmacKey } from './hmac.ts'

/** Node, Bun and Deno. A KeyObject is made once: handing `createHmac` raw bytes imports them at each call. */
export function importKey(bytes: Uint8Array): HmacKey {
  const key = createSecretKey(bytes)
  return {
    start(): Hmac {
      const hmac = createHmac('sha256', key)
      return {
        update: (chunk) => void hmac.update(chunk),
        digest: () => hmac.digest(),
      }
    },
  }
}

export const equalBytes = (a: Uint8Array, b: Uint8Array): boolean => timingSafeEqual(a, b)

import type { Awaitable } from './when.ts'

/** The port behind `#hmac`: HMAC-SHA256 (RFC 2104, FIPS 180-4) on one platform. */
export interface HmacKey {
  /** Begins one HMAC. */
  start(): Hmac
}

/** One HMAC in the making: fed with the body as it arrives. */
export interface Hmac {
  update(chunk: Uint8Array): void
  /** The 32 bytes; a promise where the platform has only asynchronous cryptography. */
  digest(): Awaitable<Uint8Array>
}

/** What a platform module exports. */
export interface HmacPlatform {
  /** @param key its bytes, or a text, which means its UTF-8 bytes */
  importKey(key: Uint8Array | string): HmacKey
  /** Compares two arrays of equal length in a time that does not depend on what they hold. */
  equalBytes(a: Uint8Array, b: Uint8Array): boolean
}

import type { Awaitable } from './awaitable.ts'

/** The port behind `#hmac`: HMAC-SHA256 (RFC 2104, FIPS 180-4) on one platform. */
export interface HmacKey {
  /** Begins one HMAC. */
  start(): Hmac
}

/** One HMAC in the making: fed with the body as it arrives, and ended once. What is made is a promise where the platform has only asynchronous cryptography. */
export interface Hmac {
  update(chunk: Uint8Array): void
  /** Ends it: the 32 bytes in lower-case hex. */
  digest(): Awaitable<string>
  /** Ends it: whether these 32 bytes are the same, in a time that does not depend on what they hold. */
  matches(signature: Uint8Array): Awaitable<boolean>
}

/** What a platform module exports. */
export interface HmacPlatform {
  /**
   * @param key its bytes, or a text, which means its UTF-8 bytes
   * @param isFresh never take it from a cache, whose hits would show by their timing which keys are in use
   */
  importKey(key: Uint8Array | string, isFresh?: boolean): HmacKey
  /** SHA-256 (FIPS 180-4), in lower-case hex too. */
  sha256(bytes: Uint8Array): Awaitable<string>
}

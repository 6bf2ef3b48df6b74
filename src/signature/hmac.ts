/** An imported key. Part of the port behind `#hmac`: HMAC-SHA256 (RFC 2104, FIPS 180-4) on one platform. */
export interface HmacKey {
  /** Starts one HMAC. */
  start(): Hmac
}

/**
 * Incremental HMAC: `update()` per chunk, then `digest()` or `matches()` once. They return promises on platforms whose
 * cryptography is asynchronous.
 */
export interface Hmac {
  update(chunk: Uint8Array): void
  /** Returns the 32 bytes in lower-case hex. */
  digest(): string | Promise<string>
  /** Compares with 32 bytes in constant time. */
  matches(signature: Uint8Array): boolean | Promise<boolean>
}

/** The exports of a platform module. */
export interface HmacPlatform {
  /** Imports a key: its bytes, or a string that means its UTF-8 bytes. */
  importKey(key: Uint8Array | string): HmacKey
  /** SHA-256 (FIPS 180-4) in lower-case hex. */
  sha256(bytes: Uint8Array): string | Promise<string>
}

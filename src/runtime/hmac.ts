/** An imported key for HMAC-SHA256 (RFC 2104, FIPS 180-4). `#runtime` resolves to the implementation for the platform. */
export interface HmacKey {
  /** Number of bytes. Keys of different lengths can have the same HMAC (RFC 2104, section 2). */
  readonly length: number
  /** Id of the key in the file of a keyring. */
  id?: string
  /** Starts one HMAC. */
  start(): Hmac
  /** The first 16 bits of the SHA-256 of the key, in hex: enough to compare keys, too few to identify a random one. */
  fingerprint(): string | Promise<string>
}

/**
 * The HMAC of one message: `digest()` or `matches()` once, with the whole message. Results are promises on platforms
 * whose cryptography is asynchronous.
 */
export interface Hmac {
  /** Hashes the next part of the message before the rest arrives. Calls are optional. Keeps no reference to the bytes. */
  update(part: Uint8Array): void
  /** Returns the 32 bytes in lower-case hex. */
  digest(message: Uint8Array): string | Promise<string>
  /** Compares the HMAC with a signature of 32 bytes in constant time. */
  matches(message: Uint8Array, signature: Uint8Array): boolean | Promise<boolean>
}

/** The exports of each implementation of `#runtime`. */
export interface HmacPlatform {
  /** True if results are not promises. An HMAC of a small message then takes a tenth of the time. */
  readonly isSync: boolean
  /** Imports a key. A string means its UTF-8 bytes. */
  importKey(key: Uint8Array | string): HmacKey
  /** Computes SHA-256 (FIPS 180-4) in lower-case hex. */
  sha256(bytes: Uint8Array): string | Promise<string>
}

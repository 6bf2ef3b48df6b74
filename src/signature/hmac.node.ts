import type { Hash } from 'node:crypto'
import { utf8 } from './bytes.ts'
import type { Hmac, HmacKey } from './hmac.ts'

/** Sizes in bytes of a SHA-256 block and of a digest (FIPS 180-4). */
const BLOCK = 64
const DIGEST = 32

/** Maximum size, in bytes, of messages that are copied into `inner` after the pad. */
const MAX_COPIED = 32 * 1024

// Buffers that all HMACs reuse. They hold key material, so they must never leave this module.
const inner = Buffer.allocUnsafeSlow(BLOCK + MAX_COPIED)
const outer = Buffer.allocUnsafeSlow(BLOCK + DIGEST)
const computed = Buffer.allocUnsafeSlow(DIGEST)
const expected = Buffer.allocUnsafeSlow(DIGEST)

let loaded: typeof import('node:crypto') | undefined

/** Loads `node:crypto` with the first key, because that takes as long as loading all of geohook. */
function crypto(): typeof import('node:crypto') {
  loaded ??= process.getBuiltinModule('node:crypto')
  return loaded
}

/** `binary` output is a string with one character per byte, which avoids allocating a Buffer. */
type Output = 'binary' | 'hex'

function hash(data: Uint8Array, encoding: Output): string {
  const { hash } = crypto()
  // Some runtimes lack crypto.hash.
  return hash ? hash('sha256', data, encoding) : crypto().createHash('sha256').update(data).digest(encoding)
}

export const isSync: boolean = true

export const sha256 = (bytes: Uint8Array): string => hash(bytes, 'hex')

/** Imports a key for HMAC on Node, Bun and Deno. */
export function importKey(key: Uint8Array | string): HmacKey {
  const bytes = typeof key === 'string' ? utf8(key) : key
  const { createHash } = crypto()
  const block = new Uint8Array(BLOCK)
  block.set(bytes.length > BLOCK ? createHash('sha256').update(bytes).digest() : bytes)
  const innerPad = block.map((byte) => byte ^ 0x36)
  const outerPad = block.map((byte) => byte ^ 0x5c)
  return { length: bytes.length, start: () => new NodeHmac(innerPad, outerPad) }
}

/**
 * Computes SHA-256(outer pad, SHA-256(inner pad, message)). Both pads are the key, extended to one block and combined
 * with a constant (RFC 2104). The pads are prepared once per key, so that a small message needs only two calls of
 * `crypto.hash`. For such messages, the setup of `createHmac` takes longer than the hashing.
 */
class NodeHmac implements Hmac {
  private readonly innerPad: Uint8Array
  private readonly outerPad: Uint8Array
  /** Number of bytes that `begun` has hashed. */
  private hashed = 0
  private begun: Hash | undefined

  constructor(innerPad: Uint8Array, outerPad: Uint8Array) {
    this.innerPad = innerPad
    this.outerPad = outerPad
  }

  update(part: Uint8Array): void {
    this.begun ??= crypto().createHash('sha256').update(this.innerPad)
    this.begun.update(part)
    this.hashed += part.length
  }

  digest(message: Uint8Array): string {
    return this.end(message, 'hex')
  }

  matches(message: Uint8Array, signature: Uint8Array): boolean {
    computed.write(this.end(message, 'binary'), 'latin1')
    expected.set(signature)
    return crypto().timingSafeEqual(computed, expected)
  }

  private end(message: Uint8Array, encoding: Output): string {
    const digest =
      this.begun || message.length > MAX_COPIED ? this.hashRest(message) : this.hashSmall(message)
    outer.set(this.outerPad)
    outer.write(digest, BLOCK, 'latin1')
    return hash(outer, encoding)
  }

  private hashRest(message: Uint8Array): string {
    this.update(message.subarray(this.hashed))
    return (this.begun as Hash).digest('binary')
  }

  private hashSmall(message: Uint8Array): string {
    inner.set(this.innerPad)
    inner.set(message, BLOCK)
    return hash(inner.subarray(0, BLOCK + message.length), 'binary')
  }
}

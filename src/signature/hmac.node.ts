import crypto, { createHash, createHmac, createSecretKey, type KeyObject, timingSafeEqual } from 'node:crypto'
import type { Hmac, HmacKey } from './hmac.ts'

/** Bytes in a block of SHA-256 (FIPS 180-4), and in its digest. */
const BLOCK = 64
const DIGEST = 32

/** Bytes up to which a message is hashed in one piece: there, what `createHmac` costs each time is more than a copy. */
const SMALL = 32 * 1024

// They hold key material, so they never leave this module.
const inner = Buffer.alloc(BLOCK + SMALL)
const outer = Buffer.alloc(BLOCK + DIGEST)
const result = Buffer.alloc(DIGEST)

const left = Buffer.allocUnsafeSlow(DIGEST)
const right = Buffer.allocUnsafeSlow(DIGEST)

/** As text, one character for each byte: that is the fastest way out, because it takes no new Buffer. */
const sha256: (data: Uint8Array) => string = crypto.hash
  ? (data) => crypto.hash('sha256', data, 'binary')
  : (data) => createHash('sha256').update(data).digest('binary') // not every runtime has it

/** The last key that was given as a text: whoever verifies by the call gives the same one each time. */
let last: { text: string; key: HmacKey } | undefined

/** Node, Bun and Deno. */
export function importKey(key: Uint8Array | string): HmacKey {
  if (typeof key !== 'string') return importBytes(key)
  if (last?.text !== key) last = { text: key, key: importBytes(Buffer.from(key)) }
  return last.key
}

function importBytes(bytes: Uint8Array): HmacKey {
  // RFC 2104: a key that is longer than a block is hashed first.
  const key = bytes.length > BLOCK ? createHash('sha256').update(bytes).digest() : new Uint8Array(bytes)
  const innerPad = toPad(key, 0x36)
  const outerPad = toPad(key, 0x5c)
  // Made once, and only for what is large: handing `createHmac` raw bytes imports them at each call.
  let secret: KeyObject | undefined

  /** HMAC by its definition (RFC 2104). */
  function digestSmall(chunks: readonly Uint8Array[], length: number): Uint8Array {
    inner.set(innerPad)
    let offset = BLOCK
    for (const chunk of chunks) {
      inner.set(chunk, offset)
      offset += chunk.length
    }
    outer.set(outerPad)
    outer.write(sha256(inner.subarray(0, BLOCK + length)), BLOCK, 'latin1')
    result.write(sha256(outer), 'latin1')
    return new Uint8Array(result)
  }

  return {
    start(): Hmac {
      const chunks: Uint8Array[] = []
      let length = 0
      let large: crypto.Hmac | undefined
      return {
        update(chunk) {
          length += chunk.length
          if (length > SMALL) {
            secret ??= createSecretKey(key)
            large ??= chunks.reduce((hmac, before) => hmac.update(before), createHmac('sha256', secret))
            large.update(chunk)
          } else chunks.push(chunk)
        },
        digest: () => large?.digest() ?? digestSmall(chunks, length),
      }
    },
  }
}

function toPad(key: Uint8Array, byte: number): Uint8Array {
  const pad = new Uint8Array(BLOCK).fill(byte)
  for (let index = 0; index < key.length; index++) pad[index] = (key[index] as number) ^ byte
  return pad
}

/** Both are digests. They are compared where Node need not move them first, which costs more than the comparison. */
export function equalBytes(a: Uint8Array, b: Uint8Array): boolean {
  left.set(a)
  right.set(b)
  return timingSafeEqual(left, right)
}

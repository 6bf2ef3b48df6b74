import crypto, { createHash, createHmac, createSecretKey, type KeyObject, timingSafeEqual } from 'node:crypto'
import { utf8 } from './bytes.ts'
import type { Hmac, HmacKey } from './hmac.ts'

/** Bytes in a block of SHA-256 (FIPS 180-4), and in its digest. */
const BLOCK = 64
const DIGEST = 32

/** What a key is combined with for the inner and the outer hash (RFC 2104). */
const INNER = new Uint8Array(BLOCK).fill(0x36)
const OUTER = new Uint8Array(BLOCK).fill(0x5c)

/** Bytes up to which a message is hashed in one piece: there, what `createHmac` costs each time is more than a copy. */
const SMALL = 32 * 1024

// They hold key material, so they never leave this module.
const inner = Buffer.allocUnsafeSlow(BLOCK + SMALL)
const outer = Buffer.allocUnsafeSlow(BLOCK + DIGEST)
const made = Buffer.allocUnsafeSlow(DIGEST)
const given = Buffer.allocUnsafeSlow(DIGEST)
const encoded = Buffer.allocUnsafeSlow(1024)
const encoder = new TextEncoder()

/** What is hashed of the first: messages that follow one another are often as long. */
let padAndMessage = inner.subarray(0, BLOCK)

/** The key whose pads stand in them: most processes have one. */
let padded: NodeKey | undefined

/** As a text: it takes no new Buffer. `binary` is one character for each byte. */
type Output = 'binary' | 'hex'
const hash: (data: Uint8Array, encoding: Output) => string = crypto.hash
  ? (data, encoding) => crypto.hash('sha256', data, encoding)
  : (data, encoding) => createHash('sha256').update(data).digest(encoding) // not every runtime has it

/** The last key that was given as a text: whoever verifies by the call gives the same one each time. */
let last: { text: string; key: HmacKey } | undefined

/** Node, Bun and Deno. */
export function importKey(key: Uint8Array | string, isFresh = false): HmacKey {
  if (typeof key !== 'string') return new NodeKey(key, key.length)
  if (isFresh) return importText(key)
  if (last?.text !== key) last = { text: key, key: importText(key) }
  return last.key
}

export const sha256 = (bytes: Uint8Array): string => hash(bytes, 'hex')

function importText(text: string): HmacKey {
  // A UTF-16 unit becomes three bytes at most.
  if (text.length * 3 > encoded.length) return importKey(utf8(text))
  return new NodeKey(encoded, encoder.encodeInto(text, encoded).written)
}

/** The two blocks that HMAC begins its hashes with (RFC 2104). */
class NodeKey implements HmacKey {
  readonly innerPad = new Uint8Array(INNER)
  readonly outerPad = new Uint8Array(OUTER)
  private secretKey: KeyObject | undefined
  /** While one lives, V8 keeps what it has compiled for them: else a full collection of garbage would take it along. */
  readonly kept: Hmac

  /** @param length of the key, at the beginning of `bytes` */
  constructor(bytes: Uint8Array, length: number) {
    const isLong = length > BLOCK
    const key = isLong ? createHash('sha256').update(bytes.subarray(0, length)).digest() : bytes
    const end = isLong ? DIGEST : length
    for (let index = 0; index < end; index++) {
      const byte = key[index] as number
      this.innerPad[index]! ^= byte
      this.outerPad[index]! ^= byte
    }
    this.kept = this.start()
  }

  /** Made once, and only for what is large: handing `createHmac` raw bytes imports them at each call. */
  get secret(): KeyObject {
    this.secretKey ??= createSecretKey(this.innerPad.map((byte, index) => byte ^ (INNER[index] as number)))
    return this.secretKey
  }

  start(): Hmac {
    return new NodeHmac(this)
  }
}

const NONE: readonly Uint8Array[] = []

/** Its fields are not `#private`: that would take the twentieth part of all the time of a signature. */
class NodeHmac implements Hmac {
  private readonly key: NodeKey
  /** None yet: most messages are one, and an empty list makes room for many. */
  private chunks: Uint8Array[] | undefined
  private length = 0
  private large: crypto.Hmac | undefined

  constructor(key: NodeKey) {
    this.key = key
  }

  update(chunk: Uint8Array): void {
    this.length += chunk.length
    if (this.length > SMALL) {
      this.large ??= this.begin()
      this.large.update(chunk)
    } else if (this.chunks) this.chunks.push(chunk)
    else this.chunks = [chunk]
  }

  digest(): string {
    return this.make('hex')
  }

  matches(signature: Uint8Array): boolean {
    made.write(this.make('binary'), 'latin1')
    given.set(signature)
    return timingSafeEqual(made, given)
  }

  private begin(): crypto.Hmac {
    const hmac = createHmac('sha256', this.key.secret)
    for (const chunk of this.chunks ?? NONE) hmac.update(chunk)
    return hmac
  }

  private make(encoding: Output): string {
    if (this.large) return this.large.digest(encoding)
    // By its definition (RFC 2104).
    if (padded !== this.key) {
      padded = this.key
      inner.set(padded.innerPad)
      outer.set(padded.outerPad)
    }
    let offset = BLOCK
    for (const chunk of this.chunks ?? NONE) {
      inner.set(chunk, offset)
      offset += chunk.length
    }
    if (padAndMessage.length !== offset) padAndMessage = inner.subarray(0, offset)
    outer.write(hash(padAndMessage, 'binary'), BLOCK, 'latin1')
    return hash(outer, encoding)
  }
}

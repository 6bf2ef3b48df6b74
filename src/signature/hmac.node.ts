import crypto, { createHash, createHmac, createSecretKey, type KeyObject, timingSafeEqual } from 'node:crypto'
import { utf8 } from './bytes.ts'
import type { Hmac, HmacKey } from './hmac.ts'

/** Bytes in a block of SHA-256 (FIPS 180-4), and in its digest. */
const BLOCK = 64
const DIGEST = 32

/** Bytes up to which a message is hashed in one piece: there, what `createHmac` costs each time is more than a copy. */
const SMALL = 32 * 1024

// They hold key material, so they never leave this module.
const inner = Buffer.allocUnsafeSlow(BLOCK + SMALL)
const outer = Buffer.allocUnsafeSlow(BLOCK + DIGEST)
const made = Buffer.allocUnsafeSlow(DIGEST)
const given = Buffer.allocUnsafeSlow(DIGEST)

/** What is hashed of the first: messages that follow one another are often as long. */
let padAndMessage = inner.subarray(0, BLOCK)

/** The key whose pads stand in them: most processes have one. */
let padded: Imported | undefined

/** As a text: it takes no new Buffer. `binary` is one character for each byte. */
type Output = 'binary' | 'hex'
const hash: (data: Uint8Array, encoding: Output) => string = crypto.hash
  ? (data, encoding) => crypto.hash('sha256', data, encoding)
  : (data, encoding) => createHash('sha256').update(data).digest(encoding) // not every runtime has it

/** The last key that was given as a text: whoever verifies by the call gives the same one each time. */
let last: { text: string; key: HmacKey } | undefined

/** Node, Bun and Deno. */
export function importKey(key: Uint8Array | string): HmacKey {
  if (typeof key !== 'string') return importBytes(key)
  if (last?.text !== key) last = { text: key, key: importBytes(utf8(key)) }
  return last.key
}

export const sha256 = (bytes: Uint8Array): string => hash(bytes, 'hex')

function importBytes(bytes: Uint8Array): HmacKey {
  // RFC 2104: a key that is longer than a block is hashed first.
  const key = bytes.length > BLOCK ? createHash('sha256').update(bytes).digest() : new Uint8Array(bytes)
  const imported: Imported = {
    key,
    innerPad: toPad(key, 0x36),
    outerPad: toPad(key, 0x5c),
    secret: undefined,
  }
  return new NodeKey(imported)
}

class NodeKey implements HmacKey {
  private readonly key: Imported
  /** While one lives, V8 keeps what it has compiled for them: else a full collection of garbage would take it along. */
  readonly kept: Hmac

  constructor(key: Imported) {
    this.key = key
    this.kept = this.start()
  }

  start(): Hmac {
    return new NodeHmac(this.key)
  }
}

interface Imported {
  readonly key: Uint8Array
  readonly innerPad: Uint8Array
  readonly outerPad: Uint8Array
  /** Made once, and only for what is large: handing `createHmac` raw bytes imports them at each call. */
  secret: KeyObject | undefined
}

const NONE: readonly Uint8Array[] = []

/** Its fields are not `#private`: that would take the twentieth part of all the time of a signature. */
class NodeHmac implements Hmac {
  private readonly key: Imported
  /** None yet: most messages are one, and an empty list makes room for many. */
  private chunks: Uint8Array[] | undefined
  private length = 0
  private large: crypto.Hmac | undefined

  constructor(key: Imported) {
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
    if (this.large) return timingSafeEqual(this.large.digest(), signature)
    made.write(this.make('binary'), 'latin1')
    given.set(signature)
    return timingSafeEqual(made, given)
  }

  private begin(): crypto.Hmac {
    this.key.secret ??= createSecretKey(this.key.key)
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

function toPad(key: Uint8Array, byte: number): Uint8Array {
  const pad = new Uint8Array(BLOCK).fill(byte)
  for (let index = 0; index < key.length; index++) pad[index] = (key[index] as number) ^ byte
  return pad
}

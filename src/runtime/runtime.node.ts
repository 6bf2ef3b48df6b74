import type { Hash } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { utf8 } from '../shared/bytes.ts'
import { errorChain } from '../shared/error-chain.ts'
import { closeUnread, drain, isClosing, watchRequest } from './drain.node.ts'
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
  const bytes = typeof key === 'string' ? utf8(key) : new Uint8Array(key) // a copy, for the fingerprint
  const { createHash } = crypto()
  const block = new Uint8Array(BLOCK)
  block.set(bytes.length > BLOCK ? createHash('sha256').update(bytes).digest() : bytes)
  const innerPad = block.map((byte) => byte ^ 0x36)
  const outerPad = block.map((byte) => byte ^ 0x5c)
  return {
    length: bytes.length,
    start: () => new NodeHmac(innerPad, outerPad),
    fingerprint: () => sha256(bytes).slice(0, 4),
  }
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

// Read at import time, before tests install fake timers, which would never fire.
const { setImmediate } = globalThis

let tick: Promise<void> | undefined

/**
 * Resolves at the end of this event loop tick. By then Node has parsed everything that arrived in the tick, so
 * bodies are complete, and responses to all requests of the tick are written together (docs/architecture.md,
 * "Speed").
 */
export function endOfTick(): Promise<void> {
  tick ??= new Promise((resolve) => {
    setImmediate(() => {
      tick = undefined
      resolve()
    })
  })
  return tick
}

/**
 * Returns true if a web request's body should be read in one piece: all of it has arrived, so this takes no more memory,
 * and it is faster. On srvx, the server of h3, it is slower.
 *
 * @param length the announced size of the body in bytes; NaN if the sender has announced none
 */
export async function bodyArrives(request: object, context: unknown, length: number): Promise<boolean> {
  const { req } = nodeExchangeOf(request, context)
  // While this waits, Node buffers the body. Only chunked and HTTP/2 bodies can fill that buffer with small chunks.
  if (length >= 0 && req?.httpVersionMajor !== 2) await endOfTick()
  return req?.readableLength === length && !('runtime' in request)
}

/**
 * Drains the Node request that a web request wraps.
 *
 * @param limit maximum number of bytes to discard
 * @returns a promise for which the response must wait; undefined if there is no Node request
 */
export function drainWebRequest(request: object, context: unknown, limit: number): Promise<void> | undefined {
  const { req, res } = nodeExchangeOf(request, context)
  // Contexts of other frameworks can have unrelated members with these names.
  if (!res || typeof req?.resume !== 'function') return undefined
  drain(req, res, limit)
  return closeUnread(req, res)
}

/** Calls `watchRequest` for the Node request that a web request wraps. */
export function watchWebRequest(request: object, context: unknown): void {
  const { req } = nodeExchangeOf(request, context)
  if (typeof req?.resume === 'function') watchRequest(req)
}

/** Returns true if the connection of the Node request that a web request wraps is about to be closed. */
export function isClosingWebRequest(request: object, context: unknown): boolean {
  const { req } = nodeExchangeOf(request, context)
  return req !== undefined && isClosing(req)
}

/**
 * Finds the Node request that a web request wraps.
 *
 * @param request the web request; srvx, the server of h3, adds Node's request as `runtime.node`
 * @param context the framework's context; `@hono/node-server` adds Node's request as `incoming`
 */
function nodeExchangeOf(request: object, context: unknown): Partial<NodeExchange> {
  try {
    const { node } = (request as { runtime?: { node?: Partial<NodeExchange> } }).runtime ?? {}
    const { incoming, outgoing } = (context ?? {}) as Record<string, unknown>
    return { req: incoming as IncomingMessage, res: outgoing as ServerResponse, ...node }
  } catch {
    return {} // an unrelated object with a getter that throws
  }
}

interface NodeExchange {
  req: IncomingMessage
  res: ServerResponse
}

/** A code, with or without an address. Other text of a cause is not shown, because it could quote a secret. */
const SYSTEM_CAUSE = /^[A-Z][A-Z\d_]{1,40}( [\w.:%/-]{1,253})?$/

/**
 * Adds the system errors among the causes of a thrown value to its text: `TypeError: fetch failed (ECONNREFUSED
 * 127.0.0.1:80)`. Throws only if the value cannot be converted to text.
 */
export function withCauses(thrown: unknown, text: string = String(thrown)): string {
  const found = new Set<string>()
  let left = 50
  try {
    for (const error of errorChain(thrown)) {
      const { code, address, port, hostname, socket } = error
      const name = address ?? hostname ?? socket?.remoteAddress
      const number = port ?? socket?.remotePort
      const cause = `${code}${name ? ` ${name}` : ''}${name && number ? `:${number}` : ''}`
      // An AggregateError repeats the code of its errors, without their addresses.
      if (error !== thrown && !('errors' in error) && SYSTEM_CAUSE.test(cause)) found.add(cause)
      if (found.size > 4 || left-- === 0) break
    }
  } catch {} // a getter or a proxy that throws
  return found.size ? `${text} (${[...found].join(', ')})` : text
}

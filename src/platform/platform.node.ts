import type { IncomingMessage, ServerResponse } from 'node:http'
import { closeUnread, drain, isClosing, watchRequest } from './drain.node.ts'
import { errorChain } from './error-chain.ts'

// Read at import time, before tests install fake timers, which would never fire.
const { setImmediate } = globalThis

const strictUtf8 = /* @__PURE__ */ new TextDecoder('utf-8', { fatal: true })

/**
 * Minimum size in bytes of a body to decode as Latin-1. Node stores Latin-1 strings of more than 1 MiB outside V8's
 * heap, but this saves memory only from about 4 MiB.
 */
const LARGE = 4 * 1024 * 1024

/**
 * Decodes strict UTF-8, and throws a TypeError for invalid bytes. Large ASCII bodies are decoded as Latin-1, which
 * returns the same text and takes less memory (docs/architecture.md, "Speed").
 */
export function decodeUtf8(bytes: Uint8Array): string {
  if (bytes.length < LARGE || !process.getBuiltinModule('node:buffer').isAscii(bytes))
    return strictUtf8.decode(bytes)
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1')
}

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

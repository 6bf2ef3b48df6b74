import { stacklessError, WebhookError } from '../errors.ts'
import type { HeaderBag, ReadOptions, ReceiverRequest, RequestHead } from './types.ts'

/**
 * Returns the value of a header. Joins repeated values with commas, as HTTP defines, so that a repeated signature never
 * verifies.
 */
export function readHeader(headers: HeaderBag, lowerCaseName: string): string | undefined {
  const value = headers[lowerCaseName]
  return typeof value === 'object' ? value.join(', ') : value
}

/** Organizations send their key as plain text in this header (docs/senders.md, "Three dialects"). */
const SECRET_HEADER = 'secret'

/**
 * Returns the names of the headers to redact, in lower case: `secret`, and the one that the profile names. A signature
 * header is not redacted, because its value is a signature.
 */
export function secretHeaders(signatureHeader: string, secretHeader: string | undefined): readonly string[] {
  const names = new Set([SECRET_HEADER, secretHeader ?? SECRET_HEADER])
  names.delete(signatureHeader)
  return [...names]
}

/**
 * Replaces the values of these headers, so that no handler, observer or inbox gets a key. Does not compare them with
 * the keys: the time would reveal how much of a value is right.
 */
export function redactSecrets(headers: HeaderBag, names: readonly string[]): HeaderBag {
  let redacted = headers
  for (const name of names) if (headers[name] !== undefined) redacted = { ...redacted, [name]: '***' }
  return redacted
}

type Socket = { socket?: { remoteAddress?: unknown } | undefined } | undefined
type DenoInfo = { remoteAddr?: { hostname?: unknown } | undefined } | undefined
type BunServer = { requestIP?(request: object): { address?: unknown } | null } | undefined

/** What servers attach to a web request (srvx, which h3 uses), or pass with it. */
interface Runtime {
  node?: { req?: Socket }
  deno?: { info?: DenoInfo }
  bun?: { server?: BunServer }
}

/**
 * Returns the address of the peer that sent a web request, or undefined if the platform does not know it. Never reads
 * headers such as `x-forwarded-for`, which anyone can send.
 *
 * @param server what the server passes with the request: Node's request as `incoming` (@hono/node-server), the info of
 *   `Deno.serve`, or the server of `Bun.serve`. Other values are ignored
 */
export function remoteAddressOf(request: object, server: unknown): string | undefined {
  try {
    const { node, deno, bun } = (request as { runtime?: Runtime }).runtime ?? {}
    const given = (server ?? {}) as { incoming?: Socket } & DenoInfo & BunServer
    const address =
      (node?.req ?? given.incoming)?.socket?.remoteAddress ??
      (deno?.info ?? given).remoteAddr?.hostname ??
      (bun?.server ?? given).requestIP?.(request)?.address
    return typeof address === 'string' ? address : undefined
  } catch {
    return undefined // an unrelated value with such a member
  }
}

/** A timer that fires this many milliseconds late shows that the process was paused. */
const PAUSE = 100

/** The bounds of bodies: bytes of one, milliseconds until it has arrived, and bytes of all in flight. */
export interface BodyLimits {
  limit: number
  bodyTimeout: number
  maxInFlightBytes: number
}

/**
 * Rejects a request whose headers announce a body that is too large or compressed. Compression is not supported,
 * because some senders sign the compressed bytes and others sign the original bytes.
 *
 * @throws {WebhookError} `content_encoding_unsupported`, `body_too_large`
 */
export function requireReadable({ headers }: RequestHead, { limit }: Pick<BodyLimits, 'limit'>): void {
  const encoding = readHeader(headers, 'content-encoding')?.trim().toLowerCase()
  if (encoding && encoding !== 'identity') throw stacklessError('content_encoding_unsupported')
  if (Number(readHeader(headers, 'content-length')) > limit) throw stacklessError('body_too_large')
}

/**
 * Reads the body within three bounds: `limit` bytes, the byte budget shared by all requests in flight, and
 * `bodyTimeout` milliseconds for the whole body to arrive.
 *
 * @param hash called with each large part of the body as soon as it has arrived, except the last one
 * @throws {WebhookError} `body_too_large`, `receiver_busy`, `body_timeout`, `body_aborted`, `body_already_parsed`
 */
export function readBody(
  request: ReceiverRequest,
  { limit, bodyTimeout }: BodyLimits,
  counter: ByteCounter,
  hash: (part: Uint8Array) => void,
): Uint8Array | Promise<Uint8Array> {
  const reading = request.read({
    limit,
    onChunk: (chunk) => counter.add(chunk.length),
    hash,
  })
  // A body that was read synchronously needs no timer.
  if (!('then' in reading)) return reading
  return new Promise((resolve, reject) => {
    const due = performance.now() + bodyTimeout
    const expire = (): void => reject(new WebhookError('body_timeout'))
    let timer = setTimeout(() => {
      // If the process was suspended, or its event loop blocked, the sender gets the time that it had to wait, but only
      // once: under constant load, slow uploads must end.
      const late = Math.min(performance.now() - due, bodyTimeout)
      if (late < PAUSE) expire()
      else timer = setTimeout(expire, late)
    }, bodyTimeout)
    reading.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}

/** Size in bytes of the blocks into which smaller chunks are copied. */
const BLOCK = 32 * 1024

/** Collects the chunks of a body: `add()` per chunk, then `end()` once. */
export interface BlockWriter {
  /** @throws {WebhookError} `body_too_large`, and what `onChunk` throws */
  add(chunk: Uint8Array): void
  end(): void
  /** Frees the bytes that were not passed to `keep` yet. */
  clear(): void
}

/**
 * Copies small chunks into blocks, and passes blocks and large chunks to `keep`, in order. Each chunk costs several
 * hundred bytes of overhead, or keeps a larger buffer in memory. The byte budget counts neither.
 */
export function writeBlocks(
  { limit, onChunk, hash }: ReadOptions,
  keep: (block: Uint8Array) => void,
): BlockWriter {
  let block = new Uint8Array(0)
  let length = 0
  let total = 0
  function complete(part: Uint8Array): void {
    hash?.(part)
    keep(part)
  }
  function clear(): void {
    block = new Uint8Array(0)
    length = 0
  }
  return {
    add(chunk) {
      total += chunk.length
      // Also refuses a chunk without a length, which would end the count of the bytes in flight.
      if (!(total <= limit)) throw stacklessError('body_too_large')
      onChunk(chunk)
      if (length > 0 && length + chunk.length > BLOCK) {
        complete(block.subarray(0, length))
        clear()
      }
      if (chunk.length >= BLOCK) return complete(chunk)
      const needed = length + chunk.length
      if (needed > block.length) {
        const larger = new Uint8Array(Math.max(needed, Math.min(2 * length, BLOCK)))
        larger.set(block.subarray(0, length))
        block = larger
      }
      block.set(chunk, length)
      length = needed
    },
    end() {
      keep(block.slice(0, length))
      clear()
    },
    clear,
  }
}

/** Counts the body bytes of one request. */
interface ByteCounter {
  /**
   * Counts bytes that have arrived.
   *
   * @throws {WebhookError} `body_too_large`, `receiver_busy`
   */
  add(bytes: number): void
  /** Returns all bytes of the request to the budget. Later calls of `add` throw. */
  release(): void
}

/** Limits the body bytes of each request, and of all requests in flight together. */
export function createByteBudget({ limit, maxInFlightBytes }: BodyLimits): () => ByteCounter {
  let total = 0
  return () => {
    let counted = 0
    return {
      add(bytes) {
        if (counted + bytes > limit) throw stacklessError('body_too_large')
        counted += bytes
        total += bytes
        if (total > maxInFlightBytes) throw stacklessError('receiver_busy')
      },
      release() {
        total -= counted
        counted = Number.POSITIVE_INFINITY
      },
    }
  }
}

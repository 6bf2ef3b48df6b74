import { WebhookError } from '../errors.ts'
import { readHeader } from './headers.ts'
import type { ByteCounter } from './in-flight.ts'
import type { Config } from './options.ts'
import type { ReadOptions, ReceiverRequest, RequestHead } from './request.ts'
import { stacklessError } from './stackless-error.ts'

/** A timer that fires this many milliseconds late shows that the process was paused. */
const PAUSE = 100

/**
 * Rejects a request whose headers announce a body that is too large or compressed. Compression is not supported,
 * because some senders sign the compressed bytes and others sign the original bytes.
 *
 * @throws {WebhookError} `content_encoding_unsupported`, `body_too_large`
 */
export function requireReadable({ headers }: RequestHead, { limit }: Config): void {
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
  { limit, bodyTimeout }: Config,
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
      if (total > limit) throw stacklessError('body_too_large')
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

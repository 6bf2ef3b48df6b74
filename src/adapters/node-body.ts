import type { IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import { WebhookError } from '../errors.ts'
import { writeBlocks } from '../receiver/request.ts'
import type { ReadOptions } from '../receiver/types.ts'

/**
 * Properties in which body parsers and hosts store a body that they have read. geohook can verify such a body only if
 * it is stored as raw bytes.
 */
export interface ParsedBody {
  rawBody?: unknown
  body?: unknown
  _body?: unknown
}

/** Names of a framework's body parsers, for the error message if a parser ran before geohook. */
export interface ParserNames {
  /** Names of the parsers that store the body as a string. */
  text: string
  /** Names of the parsers that store a parsed value. */
  value: string
  hint: string
}

/** Returns the bytes in `rawBody`, or in `body` if it holds bytes. */
export function bytesOf({ rawBody, body }: ParsedBody): Uint8Array | undefined {
  const bytes = rawBody instanceof Uint8Array ? rawBody : body
  return bytes instanceof Uint8Array ? bytes : undefined
}

/** Returns true if the sender has disconnected. An HTTP/2 request does not become destroyed when its stream is reset. */
const isClosed = (req: IncomingMessage): boolean => req.destroyed || req.aborted

/**
 * Reads the exact bytes of a Node request from its stream.
 *
 * @param signal aborted to stop reading and free the chunks that have arrived
 * @throws {WebhookError} `body_already_parsed`, `body_too_large`, `body_aborted`
 */
export function readNodeBody(
  req: IncomingMessage,
  options: ReadOptions,
  parsed: ParsedBody,
  parsers: ParserNames,
  signal: AbortSignal,
): Promise<Uint8Array> {
  if (isClosed(req) && !req.readableDidRead) throw new WebhookError('body_aborted')
  if (req.readableDidRead || req.readableEnded) throw alreadyParsed(parsed, parsers)
  if (req.readableEncoding) throw encodingSet()
  return readStream(req, options, signal)
}

/**
 * Reads the body synchronously if all of it has arrived; small bodies usually arrive with the headers.
 *
 * @throws {WebhookError} `body_already_parsed`
 */
export function takeArrived(req: IncomingMessage, { limit, onChunk }: ReadOptions): Uint8Array | undefined {
  const length = req.readableLength
  if (length === 0 || length > limit || length !== Number(req.headers['content-length']) || isClosed(req))
    return undefined
  const body: unknown = req.read()
  if (!(body instanceof Uint8Array)) throw encodingSet()
  onChunk(body)
  req.resume() // otherwise 'end' and 'close' would never be emitted
  return unpool(body)
}

/** Not imported statically, because that would double the import time of the adapters. */
let getRawBody: typeof import('raw-body') | undefined

/**
 * Loads raw-body in the background when a receiver is mounted. Loading it with the first large body could be too late: if
 * the process has no free file descriptor, the import fails, and Node 20 never repeats a failed import.
 */
export function preloadRawBody(): void {
  loadRawBody().catch(() => {}) // the first body that needs raw-body reports the error
}

async function loadRawBody(): Promise<typeof import('raw-body')> {
  getRawBody ??= (await import('raw-body')).default
  return getRawBody
}

/** Reads the request with raw-body. Passes it blocks instead of chunks, because it keeps everything until the end. */
function readStream(req: IncomingMessage, options: ReadOptions, signal: AbortSignal): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const blocks = new Readable({ read() {} })
    const writer = writeBlocks(options, (block) => blocks.push(block))
    const listeners = {
      data(chunk: unknown): void {
        try {
          if (!(chunk instanceof Uint8Array)) throw encodingSet()
          writer.add(chunk)
        } catch (error) {
          fail(error)
        }
      },
      end(): void {
        detach()
        writer.end()
        blocks.push(null)
      },
      error: (cause: unknown) => fail(new WebhookError('body_aborted', { cause })),
      close: () => fail(new WebhookError('body_aborted')),
    }
    const attached = Object.entries(listeners)
    function detach(): void {
      for (const [event, listener] of attached) req.off(event, listener)
    }
    function fail(error: unknown): void {
      detach()
      blocks.destroy() // frees the blocks, while the request is drained
      reject(error)
    }
    function start(read: typeof import('raw-body')): void {
      const length = req.headers['content-length'] ?? null
      read(blocks, { limit: options.limit, length }, (error, body) => {
        if (error) fail(toWebhookError(error))
        else resolve(unpool(body))
      })
    }
    for (const [event, listener] of attached) req.on(event, listener)
    signal.addEventListener('abort', () => fail(signal.reason), { once: true })
    req.resume() // otherwise a paused stream would stay paused
    if (getRawBody) start(getRawBody)
    else loadRawBody().then(start, fail)
  })
}

/** Copies a small body out of Node's shared Buffer pool, which also holds unrelated data. */
const unpool = (body: Uint8Array): Uint8Array =>
  body.buffer.byteLength === body.length ? body : new Uint8Array(body)

function toWebhookError(error: { type?: string }): WebhookError {
  return new WebhookError(error.type === 'entity.too.large' ? 'body_too_large' : 'body_aborted', {
    cause: error,
  })
}

/** Resolves when a fully read request has emitted 'end' or 'close'. Later readers then see an ended stream. */
export async function whenEnded(req: IncomingMessage): Promise<void> {
  if (req.readableEnded || req.destroyed) return
  await new Promise((resolve) => req.once('end', resolve).once('close', resolve))
}

/**
 * Passes the body to readers that start after its end, because they would otherwise wait forever. Fastify's parsers are
 * such readers if geohook is middleware in Fastify (NestJS, `@fastify/middie`).
 */
export function replayBody(req: IncomingMessage, body: Uint8Array): void {
  let late: [event: string, listener: (chunk?: Uint8Array | string) => void][] = []
  function replay(): void {
    const added = late
    late = []
    for (const name of ['data', 'end'])
      for (const [event, listener] of added) {
        // A reader may have removed its listener: Fastify's does if the body exceeds its limit.
        if (event !== name || !req.listeners(event).includes(listener)) continue
        if (event === 'end') {
          listener.call(req)
        } else {
          const copy = Buffer.from(body)
          listener.call(req, req.readableEncoding ? copy.toString(req.readableEncoding) : copy)
        }
      }
  }
  req.on('newListener', (event: string, listener: () => void) => {
    // Skip listeners of pipe(): it has already ended its destination.
    if (!req.readableEnded || (event !== 'data' && event !== 'end') || isPiped(req)) return
    if (late.length === 0) process.nextTick(replay)
    late.push([event, listener])
  })
}

const isPiped = (req: object): boolean =>
  (req as { _readableState?: { pipes?: unknown[] } })._readableState?.pipes?.length !== 0

const encodingSet = (): WebhookError =>
  new WebhookError('body_already_parsed', {
    message: 'setEncoding() was called on the request, so its bytes have become text',
    hint: 'Remove the call, or mount geohook before it.',
  })

/** Creates an error that names the body parser. The type of the parsed body shows which parser ran. */
function alreadyParsed({ body, _body }: ParsedBody, { text, value, hint }: ParserNames): WebhookError {
  const culprit =
    typeof body === 'string'
      ? `a text parser, such as ${text},`
      : _body === true || (typeof body === 'object' && body !== null)
        ? `a body parser, such as ${value},`
        : 'something'
  return new WebhookError('body_already_parsed', { message: `${culprit} read the body before geohook`, hint })
}

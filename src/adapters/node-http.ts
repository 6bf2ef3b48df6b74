import type { IncomingMessage, ServerResponse } from 'node:http'
import type { ServerHttp2Stream } from 'node:http2'
import type { Socket } from 'node:net'
import { Readable } from 'node:stream'
import { endOfTick } from '#runtime'
import { WebhookError } from '../errors.ts'
import type { ReceiverPort } from '../receiver/port.ts'
import { writeBlocks } from '../receiver/request.ts'
import type {
  Delivery,
  HeaderBag,
  NextResult,
  Outcome,
  ReadOptions,
  ReceiverRequest,
  RequestHead,
} from '../receiver/types.ts'
import { closeUnread, cutUnreadResponse, drain, isClosing, watchRequest } from '../runtime/drain.node.ts'

/** One request in a framework built on Node streams. Its members cover the differences between frameworks. */
interface NodeExchange {
  req: IncomingMessage
  res: ServerResponse
  /** The full path and query. Required if a router strips a prefix from `req.url`. Default: `req.url`. */
  url?: string | undefined
  params?: RequestHead['params']
  /** Object in which body parsers store the body. Default: the request itself. */
  parsed?: ParsedBody
  parsers: ParserNames
  /**
   * Runs the framework's next handler, which sends the response. Resolves when the handler has ended. Returns undefined
   * if the framework does not report that; the status is then read from `res`.
   */
  next?: ((delivery: Delivery) => Promise<NextResult> | undefined) | undefined
  /** Writes the response with the framework's own functions. Default: writes to `res`. */
  write?(outcome: Outcome): void
}

/** How far a request has come. */
interface Progress {
  /** The request's stream has been read, so that later readers find nothing in it. */
  isStreamRead?: boolean
  /** The body arrived with the headers. */
  isReadAtOnce?: boolean
  /** Only the next handler may respond now. */
  isPassedOn?: boolean
  reading?: AbortController
}

/** Processes one request. Resolves when the receiver or the next handler has responded. */
export async function serve(receive: ReceiverPort['receive'], exchange: NodeExchange): Promise<void> {
  const { req, res, url, params, parsed = req as ParsedBody, parsers, next } = exchange
  const { write = (outcome) => writeTo(res, outcome) } = exchange
  const progress: Progress = {}
  watchRequest(req)

  const request: ReceiverRequest = {
    method: req.method ?? '',
    url: url ?? req.url ?? '',
    headers: headersOf(req),
    params,
    remoteAddress: addressOf(req), // read now, because a closed socket may no longer know it
    read(options) {
      if (isClosing(req)) throw new WebhookError('body_aborted')
      const bytes = bytesOf(parsed)
      if (bytes) {
        options.onChunk(bytes)
        return bytes
      }
      progress.isStreamRead = true
      const arrived = takeArrived(req, options)
      if (arrived) {
        progress.isReadAtOnce = true
        return arrived
      }
      progress.reading = new AbortController()
      return readNodeBody(req, options, parsed, parsers, progress.reading.signal)
    },
    async cancel(limit) {
      progress.reading?.abort()
      drain(req, res, limit)
      await closeUnread(req, res)
    },
    next: next && ((delivery) => passOn(exchange, progress, () => next(delivery), delivery.rawBody)),
  }
  await receive(request, async (outcome) => {
    // Once the delivery is passed on, only the next handler may respond, even if the client has disconnected.
    if (progress.isPassedOn) return
    // Requests with larger bodies do not wait, because all deliveries of the tick would then stay in memory.
    if (progress.isReadAtOnce) await endOfTick()
    await respond(req, res, outcome, write)
  })
}

/** Runs the framework's next handler, which responds. */
async function passOn(
  { req, res, parsed = req as ParsedBody }: NodeExchange,
  progress: Progress,
  run: () => Promise<NextResult> | undefined,
  rawBody: Uint8Array,
): Promise<NextResult> {
  if (progress.isStreamRead) {
    await whenEnded(req)
    replayBody(req, rawBody)
  }
  const sent = whenSent(req, res)
  parsed.rawBody = rawBody // used by body parsers and webhook() handlers that run later
  progress.isPassedOn = true
  let handled: Promise<NextResult> | undefined
  try {
    handled = run()
  } catch (error) {
    progress.isPassedOn = false // makes geohook send an error response: not every host handles the exception
    throw error
  }
  if (!handled) return { status: requireStatus(await sent) }
  const result = await handled
  // Other code may have changed the status since. If the client has disconnected, the handler's result counts.
  const status = await sent
  if (status !== undefined) return { ...result, status }
  const error = breakOf(res)
  if (error) throw error
  return result
}

function requireStatus(status: number | undefined): number {
  if (status === undefined) throw new Error('the connection was closed before the next handler responded')
  return status
}

/** Writes the response. Resolves when it is sent, or when the connection is closed. */
async function respond(
  req: IncomingMessage,
  res: ServerResponse,
  outcome: Outcome,
  write: (outcome: Outcome) => void,
): Promise<void> {
  const { stream } = res as { stream?: ServerHttp2Stream }
  if (res.destroyed || stream?.closed) return
  if (res.headersSent) {
    // Other code has begun a response. On failure, destroy the socket, so that a truncated 200 is not taken for
    // success.
    if (outcome.error && !res.writableEnded) res.destroy()
    else res.end()
  } else {
    if (outcome.close) res.shouldKeepAlive = false
    write(outcome)
    cutUnreadResponse(res)
  }
  if (!isSent(res)) await whenSent(req, res)
}

/** Writes an outcome to Node's own response. */
export function writeTo(res: ServerResponse, { status, headers, body }: Outcome): void {
  res.writeHead(status, { 'content-length': body.length, ...headers })
  res.end(body)
}

/** Returns the address of the peer. Hosts without sockets pass requests without one, or with a substitute. */
function addressOf(req: IncomingMessage): string | undefined {
  try {
    const address: unknown = req.socket?.remoteAddress
    return typeof address === 'string' ? address : undefined
  } catch {
    return undefined
  }
}

/** Codes of the errors with which Node closes a response after the client has disconnected. */
const DISCONNECTED = ['ERR_STREAM_PREMATURE_CLOSE', 'ERR_HTTP2_STREAM_ERROR']

/** Returns the error with which the server broke off a response, for example the error of a body stream. */
function breakOf(res: ServerResponse): Error | undefined {
  const { stream } = res as { stream?: { errored?: Error | null } }
  const error = (stream ?? res).errored as (Error & { code?: string }) | null | undefined
  return error && !DISCONNECTED.includes(`${error.code}`) ? error : undefined
}

/** Returns true if the whole response has been written to the socket. */
const isSent = (res: ServerResponse): boolean => res.writableEnded && res.writableLength === 0

/** An HTTP/2 response also emits 'finish' when its stream is reset. Its status then is only a default. */
const statusOf = (res: ServerResponse): number | undefined => (res.writableEnded ? res.statusCode : undefined)

/** Resolves with the status when the response is sent, or with undefined if the connection closes first. */
function whenSent({ socket }: IncomingMessage, res: ServerResponse): Promise<number | undefined> {
  return new Promise((resolve) => {
    if (res.writableFinished) return resolve(statusOf(res))
    if (socket.destroyed) return resolve(undefined)
    // Node 20 emits no 'close' for a response queued behind another on a pipelined connection.
    const callbacks = res.socket ? undefined : callbacksOf(socket)
    function settle(status?: number): void {
      callbacks?.delete(onClosed)
      resolve(status)
    }
    const onClosed = (): void => settle()
    callbacks?.add(onClosed)
    res.on('finish', () => settle(statusOf(res))).on('close', onClosed)
  })
}

const closeCallbacks = new WeakMap<Socket, Set<() => void>>()

/**
 * Returns the callbacks to run when the socket closes. All callbacks share one listener: clients can pipeline any
 * number of requests, and Node warns about more than ten listeners.
 */
function callbacksOf(socket: Socket): Set<() => void> {
  let callbacks = closeCallbacks.get(socket)
  if (!callbacks) {
    const all = new Set<() => void>()
    socket.once('close', () => {
      for (const callback of all) callback()
    })
    closeCallbacks.set(socket, all)
    callbacks = all
  }
  return callbacks
}

/**
 * Returns the headers of a Node request, and joins repeated values, as other platforms do. Node itself keeps only the
 * first value of `content-type`, `authorization` and some other headers.
 */
export function headersOf({ headers, rawHeaders = [] }: IncomingMessage): HeaderBag {
  const joined = { ...headers }
  const first = new Map<string, string>()
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const [raw, value] = rawHeaders.slice(i, i + 2) as [string, string]
    const name = raw.toLowerCase()
    if (!first.has(name)) first.set(name, value)
    else if (headers[name] === first.get(name)) joined[name] += `, ${value}`
  }
  return joined
}

/**
 * Properties in which body parsers and hosts store a body that they have read. geohook can verify such a body only if
 * it is stored as raw bytes.
 */
interface ParsedBody {
  rawBody?: unknown
  body?: unknown
  _body?: unknown
}

/** Names of a framework's body parsers, for the error message if a parser ran before geohook. */
interface ParserNames {
  /** Names of the parsers that store the body as a string. */
  text: string
  /** Names of the parsers that store a parsed value. */
  value: string
  hint: string
}

/** Returns the bytes in `rawBody`, or in `body` if it holds bytes. */
function bytesOf({ rawBody, body }: ParsedBody): Uint8Array | undefined {
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
function readNodeBody(
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
function takeArrived(req: IncomingMessage, { limit, onChunk }: ReadOptions): Uint8Array | undefined {
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
        if (error) fail(toBodyError(error))
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

function toBodyError(error: { type?: string }): WebhookError {
  return new WebhookError(error.type === 'entity.too.large' ? 'body_too_large' : 'body_aborted', {
    cause: error,
  })
}

/** Resolves when a fully read request has emitted 'end' or 'close'. Later readers then see an ended stream. */
async function whenEnded(req: IncomingMessage): Promise<void> {
  if (req.readableEnded || req.destroyed) return
  await new Promise((resolve) => req.once('end', resolve).once('close', resolve))
}

/**
 * Passes the body to readers that start after its end, because they would otherwise wait forever. Fastify's parsers are
 * such readers if geohook is middleware in Fastify (NestJS, `@fastify/middie`).
 */
function replayBody(req: IncomingMessage, body: Uint8Array): void {
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

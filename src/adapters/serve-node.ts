import type { IncomingMessage, ServerResponse } from 'node:http'
import type { ServerHttp2Stream } from 'node:http2'
import type { Socket } from 'node:net'
import { endOfTick } from '#platform'
import { WebhookError } from '../errors.ts'
import { closeUnread, cutUnreadResponse, drain, isClosing, watchRequest } from '../platform/drain.node.ts'
import type {
  Delivery,
  HeaderBag,
  NextResult,
  Outcome,
  Receiver,
  ReceiverRequest,
  RequestHead,
} from '../receiver/types.ts'
import {
  bytesOf,
  type ParsedBody,
  type ParserNames,
  readNodeBody,
  replayBody,
  takeArrived,
  whenEnded,
} from './node-body.ts'

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

/** Processes one request. Resolves when the receiver or the next handler has responded. */
export async function serve(receive: Receiver['receive'], exchange: NodeExchange): Promise<void> {
  const { req, res, url, params, parsed = req as ParsedBody, parsers, next } = exchange
  const { write = (outcome) => writeTo(res, outcome) } = exchange
  let isPassedOn = false
  let isStreamRead = false
  /** True if the body arrived with the headers. */
  let isReadAtOnce = false
  let reading: AbortController | undefined
  watchRequest(req)

  async function passOn(run: NonNullable<typeof next>, delivery: Delivery): Promise<NextResult> {
    if (isStreamRead) {
      await whenEnded(req)
      replayBody(req, delivery.rawBody)
    }
    const sent = whenSent(req, res)
    parsed.rawBody = delivery.rawBody // used by body parsers and webhook() handlers that run later
    isPassedOn = true
    let handled: Promise<NextResult> | undefined
    try {
      handled = run(delivery)
    } catch (error) {
      isPassedOn = false // makes geohook send an error response: not every host handles the exception
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
      isStreamRead = true
      const arrived = takeArrived(req, options)
      if (arrived) {
        isReadAtOnce = true
        return arrived
      }
      reading = new AbortController()
      return readNodeBody(req, options, parsed, parsers, reading.signal)
    },
    async cancel(limit) {
      reading?.abort()
      drain(req, res, limit)
      await closeUnread(req, res)
    },
    next: next && ((delivery) => passOn(next, delivery)),
  }
  await receive(request, async (outcome) => {
    // Once the delivery is passed on, only the next handler may respond, even if the client has disconnected.
    if (isPassedOn) return
    // Requests with larger bodies do not wait, because all deliveries of the tick would then stay in memory.
    if (isReadAtOnce) await endOfTick()
    await respond(req, res, outcome, write)
  })
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
  // Fast path: in nearly all requests no header occurs twice.
  if (Object.keys(headers).length * 2 === rawHeaders.length) return headers
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

/** The part of Node's response that geohook uses. h3 and Hono pass it to handlers when they run on Node. */
export interface NodeResponse {
  readonly statusCode: number
  readonly writableEnded: boolean
  readonly destroyed?: boolean
  /** Set for HTTP/2, where the response itself has no `destroyed` property. */
  readonly stream?: { readonly destroyed?: boolean }
  once(event: 'close', listener: () => void): unknown
}

/**
 * Resolves with the status that a handler writes directly to Node's response, bypassing its framework, possibly after
 * the handler has returned. Rejects if the connection closes first.
 */
export async function statusOfNodeResponse(res: NodeResponse | undefined): Promise<number> {
  if (!res) throw new Error('the next handler claims to have responded, but the response object is missing')
  // An ended response counts as complete even if it is not sent yet: these frameworks do not report when it is sent.
  if (!res.writableEnded && !res.destroyed && !res.stream?.destroyed)
    await new Promise<void>((resolve) => res.once('close', resolve))
  if (!res.writableEnded) throw new Error('the connection was closed before the next handler responded')
  return res.statusCode
}

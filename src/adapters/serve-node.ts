import type { IncomingMessage, ServerResponse } from 'node:http'
import type { ServerHttp2Stream } from 'node:http2'
import { endOfTick } from '#platform'
import { WebhookError } from '../errors.ts'
import { closeUnread, cutUnreadResponse, drain, isClosing, watchRequest } from '../platform/drain.node.ts'
import type { Delivery } from '../receiver/delivery.ts'
import type { NextResult } from '../receiver/next-handler.ts'
import type { Outcome } from '../receiver/outcome.ts'
import type { Receiver } from '../receiver/receiver-types.ts'
import type { ReceiverRequest, RequestHead } from '../receiver/request.ts'
import {
  bytesOf,
  type ParsedBody,
  type ParserNames,
  readNodeBody,
  replayBody,
  takeArrived,
  whenEnded,
} from './node-body.ts'
import { addressOf, breakOf, isSent, whenSent } from './node-connection.ts'
import { headersOf } from './node-headers.ts'

/** One request in a framework built on Node streams. Its members cover the differences between frameworks. */
export interface NodeExchange {
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

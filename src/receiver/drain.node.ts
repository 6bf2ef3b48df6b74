import type { IncomingMessage, ServerResponse } from 'node:http'
import type { ServerHttp2Stream } from 'node:http2'
import type { Socket } from 'node:net'

/** Bytes that a refused sender may still send where the limit of the receiver is smaller. */
const AT_LEAST = 1024 * 1024

/** Milliseconds after which the connection ends, whatever the sender does. */
const AT_MOST = 5_000

/** Milliseconds that a sender gets to read its answer once it has sent more than it may. */
const TO_READ = 1_000

/** Milliseconds between an answer and the reset of its HTTP/2 stream: curl 7.88 loses an answer that arrives with the reset. */
const TO_READ_ON_STREAM = 100

/** HTTP/2 error code CANCEL (RFC 9113 section 7). */
const CANCEL = 8

type OnStream = { stream?: ServerHttp2Stream }

/**
 * Reads and discards the rest of a refused request, within bounds. If the connection were cut, a sender that is still
 * sending would get a reset instead of the answer.
 *
 * @param limit bytes that the sender may still send
 */
export function drain(req: IncomingMessage, res: ServerResponse, limit: number): void {
  if (req.complete || req.destroyed) return
  const { socket } = req
  const { stream } = res as OnStream
  const over = stream ? endBehindAnswer(stream) : stayOpen(socket)
  const cut = (): unknown => (stream ? stream.close(CANCEL) : socket.destroy())
  const timer = setTimeout(cut, AT_MOST).unref()
  const stop = (): void => {
    clearTimeout(timer)
    over?.()
  }
  let left = Math.max(limit, AT_LEAST)
  req
    .removeAllListeners('data') // an abandoned reader would buffer the bytes or pause the request
    .on('error', () => {})
    .on('data', (chunk: Uint8Array) => {
      left -= chunk.length
      if (left >= 0) return
      req.pause()
      // With its last chunk, the sender may have reused the connection already.
      setTimeout(() => (req.complete ? req.resume() : cut()), TO_READ).unref()
    })
    .once('end', stop)
    .once('close', stop)
    .resume()
}

/** Ends an HTTP/2 stream behind its answer, whether or not the sender has finished: RFC 9113 section 8.1. */
function endBehindAnswer(stream: ServerHttp2Stream): undefined {
  stream.once('finish', () => void setTimeout(() => stream.close(), TO_READ_ON_STREAM).unref())
}

/**
 * Node destroys a connection right behind an answer with `connection: close`.
 *
 * @returns what destroys it now, once the sender has finished: RFC 9112 section 9.6
 */
function stayOpen(socket: Socket): () => void {
  const { destroySoon } = socket
  let isDue = false
  socket.destroySoon = () => {
    isDue = true
  }
  return () => {
    socket.destroySoon = destroySoon
    if (isDue) socket.destroySoon()
  }
}

/** Ends an HTTP/2 stream whose client opens no window for its answer. */
export function requireTaken(res: ServerResponse): void {
  const { stream } = res as OnStream
  if (!stream) return
  const timer = setTimeout(() => stream.close(CANCEL), AT_MOST).unref()
  stream.once('close', () => clearTimeout(timer))
}

/** Node's own request and response, where a server of web requests hands them over. */
interface Beside {
  req: IncomingMessage
  res: ServerResponse
}

/**
 * Drains a web request that is served by Node. Returns false where that cannot be done.
 *
 * @param request srvx, the server of h3, has Node's request in `runtime`
 * @param context @hono/node-server hands Node's request over as `incoming`
 */
export function drainBeside(request: object, context: unknown, limit: number): boolean {
  const { node } = (request as { runtime?: { node?: Partial<Beside> } }).runtime ?? {}
  const { incoming, outgoing } = (context ?? {}) as { incoming?: Beside['req']; outgoing?: Beside['res'] }
  const { req = incoming, res = outgoing } = node ?? {}
  // Elsewhere, a context may have other things of these names.
  if (!res || typeof req?.resume !== 'function') return false
  drain(req, res, limit)
  return true
}

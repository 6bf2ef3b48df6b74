import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Http2Session, ServerHttp2Stream } from 'node:http2'
import type { Socket } from 'node:net'

// Read at import time, before tests install fake timers, which would never fire.
const { setImmediate } = globalThis

/** Maximum number of bytes to discard, unless the receiver's `limit` is larger. */
const MIN_DISCARDED = 1024 * 1024

/** Milliseconds after which a connection that is still draining, or an HTTP/2 stream that is still open, is closed. */
const MAX_DURATION = 5_000

/** Milliseconds that a sender has to read the response after sending more bytes than the receiver discards. */
const READ_TIME = 1_000

/**
 * Milliseconds between a response and the reset of its HTTP/2 stream: curl 7.88 drops a response that arrives
 * together with the reset.
 */
const RESET_DELAY = 100

/** HTTP/2 error code CANCEL (RFC 9113 section 7). */
const CANCEL = 8

type OnStream = { stream?: ServerHttp2Stream }

/**
 * Reads and discards the rest of a rejected request, within bounds. Without this, a sender that is still sending
 * would see a connection reset instead of the response.
 *
 * @param limit maximum number of bytes to discard; at least 1 MiB is allowed
 */
export function drain(req: IncomingMessage, res: ServerResponse, limit: number): void {
  if (req.complete || req.readableEnded || req.destroyed) return
  const { socket } = req
  const { stream } = res as OnStream
  const afterDrain = stream ? endAfterResponse(stream) : delayClose(socket)
  const cut = (): unknown => (stream ? cancel(stream) : req.destroy())
  const timer = setTimeout(cut, MAX_DURATION).unref()
  let reading: ReturnType<typeof setTimeout> | undefined
  const stop = (): void => {
    clearTimeout(timer)
    clearTimeout(reading)
    if (reading && !stream) socket.resume()
    if (!stream) socket.off('close', stop)
    afterDrain?.()
  }
  // Once the response is sent, Node does not close the request with its socket.
  if (!stream) socket.once('close', stop)
  let remaining = Math.max(limit, MIN_DISCARDED)
  req
    .removeAllListeners('data') // the previous reader would still buffer the bytes or pause the request
    .on('error', () => {})
    .on('data', (chunk: Uint8Array) => {
      remaining -= chunk.length
      if (remaining >= 0 || reading) return
      if (!stream) {
        // Pausing only the request would leave the data that Node has read in memory, in chunks as small as it arrived.
        req._read = () => {}
        socket.pause()
      }
      reading = setTimeout(cut, READ_TIME).unref()
    })
    .once('close', stop)
    .resume()
  if (!stream) req.once('end', stop) // a stream may stay open after the end of its data
}

function cancel(stream: ServerHttp2Stream): void {
  stream.close(CANCEL)
  stream.destroy() // needed if the session has failed and never sends the reset, or if the client has reset the stream
}

/** Closes an HTTP/2 stream after its response, even if the sender is still sending (RFC 9113 section 8.1). */
function endAfterResponse(stream: ServerHttp2Stream): undefined {
  stream.once('finish', () => void setTimeout(() => stream.close(), RESET_DELAY).unref())
}

/** Connections that stay open only for `drain()`, after a response with `connection: close`. */
const closing = /* @__PURE__ */ new WeakSet<Socket>()

/**
 * Makes the response close the connection if the end of the request has not arrived. Otherwise a proxy could send
 * another delivery on the connection, which `drain()` may close. Does nothing for HTTP/2, where only the stream ends.
 * Waits for the next event loop tick, because Node emits a request before it has parsed the data that arrived with it.
 */
export async function closeUnread(req: IncomingMessage, res: ServerResponse): Promise<void> {
  if (req.complete !== false || (res as OnStream).stream) return
  await new Promise((resolve) => setImmediate(resolve))
  if (req.complete) return
  res.shouldKeepAlive = false
  closing.add(req.socket)
}

/** Returns true if the server must not process further requests on this connection (RFC 9112 section 9.6). */
export function isClosing(req: IncomingMessage): boolean {
  try {
    return closing.has(req.socket)
  } catch {
    return false // a substitute of a host without sockets
  }
}

/**
 * Keeps Node from destroying the connection right after a response with `connection: close` (RFC 9112 section 9.6).
 *
 * @returns a function that ends the delay, and closes the connection if Node tried to close it during the delay
 */
function delayClose(socket: Socket): () => void {
  const { destroySoon } = socket
  let isDue = false
  let isOver = false
  function delayed(): void {
    if (isOver) {
      destroySoon.call(socket)
    } else {
      isDue = true
    }
  }
  socket.destroySoon = delayed
  return () => {
    isOver = true
    // The next request on the connection may already have replaced `destroySoon` too.
    if (socket.destroySoon === delayed) socket.destroySoon = destroySoon
    if (isDue) destroySoon.call(socket)
  }
}

/**
 * Closes an HTTP/2 stream if it is still open 5 seconds after its response was written, for example because the client
 * does not open a flow-control window.
 */
export function cutUnreadResponse(res: ServerResponse): void {
  const { stream } = res as OnStream
  if (!stream) return
  const timer = setTimeout(() => cancel(stream), MAX_DURATION).unref()
  stream.once('close', () => clearTimeout(timer))
}

/** The requests of each HTTP/2 session: how many are open, and how many have arrived since the last check. */
const requestsOf = /* @__PURE__ */ new WeakMap<Http2Session, { open: number; recent: number }>()

/** Discards the body if the request cannot be a delivery, and makes sure that its HTTP/2 stream closes. */
export function watchRequest(req: IncomingMessage): void {
  // While a key function runs, Node would keep the small chunks of the body one by one, and nothing would count them.
  if (req.method !== 'POST') req.resume()
  const { stream } = req as OnStream
  const { session } = stream ?? {}
  if (!stream || !session) return
  // If the client resets a stream with NO_ERROR, Node keeps the stream until its data is read.
  const destroy = (): void => process.nextTick(() => stream.destroy())
  if (stream.aborted) destroy()
  else stream.once('aborted', destroy)
  const requests = requestsOf.get(session) ?? watchSession(session)
  requests.open++
  requests.recent++
  stream.once('close', () => requests.open--)
}

/**
 * Destroys a session that has requests but cannot send a single byte for 5 seconds. After most protocol errors, Node
 * neither reads from a session nor writes to it, but keeps it and its streams open. It also reads nothing while a client
 * does not take the bytes of a response.
 */
function watchSession(session: Http2Session): { open: number; recent: number } {
  const requests = { open: 0, recent: 0 }
  requestsOf.set(session, requests)
  /** The number of bytes sent before the last PING. */
  let sent: number | undefined
  const timer = setInterval(() => {
    if (session.destroyed) return clearInterval(timer)
    const { bytesWritten } = session.socket
    if (bytesWritten === sent) return session.destroy()
    const isUsed = requests.open + requests.recent > 0
    requests.recent = 0
    // Node sends no more PINGs while ten are unacknowledged.
    sent = isUsed && session.ping(() => {}) ? bytesWritten : undefined
  }, MAX_DURATION).unref()
  session.once('close', () => clearInterval(timer))
  return requests
}

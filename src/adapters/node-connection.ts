import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** Returns the address of the peer. Hosts without sockets pass requests without one, or with a substitute. */
export function addressOf(req: IncomingMessage): string | undefined {
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
export function breakOf(res: ServerResponse): Error | undefined {
  const { stream } = res as { stream?: { errored?: Error | null } }
  const error = (stream ?? res).errored as (Error & { code?: string }) | null | undefined
  return error && !DISCONNECTED.includes(`${error.code}`) ? error : undefined
}

/** Returns true if the whole response has been written to the socket. */
export const isSent = (res: ServerResponse): boolean => res.writableEnded && res.writableLength === 0

/** An HTTP/2 response also emits 'finish' when its stream is reset. Its status then is only a default. */
const statusOf = (res: ServerResponse): number | undefined => (res.writableEnded ? res.statusCode : undefined)

/** Resolves with the status when the response is sent, or with undefined if the connection closes first. */
export function whenSent({ socket }: IncomingMessage, res: ServerResponse): Promise<number | undefined> {
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

import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** Returns true if the whole response has been written to the socket. */
export const isSent = (res: ServerResponse): boolean => res.writableEnded && res.writableLength === 0

/** Resolves with the status when the response is sent, or with undefined if the connection closes first. */
export function whenSent({ socket }: IncomingMessage, res: ServerResponse): Promise<number | undefined> {
  return new Promise((resolve) => {
    if (res.writableFinished) return resolve(res.statusCode)
    if (socket.destroyed) return resolve(undefined)
    // Node 20 emits no 'close' for a response queued behind another on a pipelined connection.
    const callbacks = res.socket ? undefined : callbacksOf(socket)
    function settle(status?: number): void {
      callbacks?.delete(onClosed)
      resolve(status)
    }
    const onClosed = (): void => settle()
    callbacks?.add(onClosed)
    res.on('finish', () => settle(res.statusCode)).on('close', onClosed)
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

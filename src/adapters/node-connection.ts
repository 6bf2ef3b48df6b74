import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** Whether the whole answer has gone already: a short one does at once. */
export const isSent = (res: ServerResponse): boolean => res.writableEnded && res.writableLength === 0

/** Resolves with the status of the answer once it is sent; with none when the connection closes before. */
export function whenSent({ socket }: IncomingMessage, res: ServerResponse): Promise<number | undefined> {
  return new Promise((resolve) => {
    if (res.writableFinished) return resolve(res.statusCode)
    if (socket.destroyed) return resolve(undefined)
    // Node 20 does not close a response that waits behind another one on a pipelined connection.
    const callbacks = res.socket ? undefined : onClose(socket)
    function over(status?: number): void {
      callbacks?.delete(closed)
      resolve(status)
    }
    const closed = (): void => over()
    callbacks?.add(closed)
    res.on('finish', () => over(res.statusCode)).on('close', closed)
  })
}

const closings = new WeakMap<Socket, Set<() => void>>()

/** What is called when a socket closes. It has one listener, however many requests a stranger pipelines on it: Node warns of more than ten. */
function onClose(socket: Socket): Set<() => void> {
  let callbacks = closings.get(socket)
  if (!callbacks) {
    const all = new Set<() => void>()
    socket.once('close', () => {
      for (const one of all) one()
    })
    closings.set(socket, all)
    callbacks = all
  }
  return callbacks
}

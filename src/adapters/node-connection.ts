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

/** Bytes and milliseconds that a sender gets to finish what it is sending, after it was refused. */
const DRAIN = { bytes: 1024 * 1024, milliseconds: 5_000 }

/**
 * A sender that is still sending would not read the answer if the connection were cut, so it may finish, within
 * bounds. Beyond them the connection ends.
 */
export function drain(req: IncomingMessage): void {
  const { socket } = req
  let bytes = 0
  if (req.httpVersionMajor === 1) {
    const { destroySoon } = socket
    // Node destroys a connection right behind an answer with `connection: close`: this waits until the sender has finished.
    socket.destroySoon = () => {
      const end = (): void => destroySoon.call(socket)
      if (req.complete) end()
      else req.once('end', end)
    }
  }
  const timer = setTimeout(() => req.destroy(), DRAIN.milliseconds)
  timer.unref()
  req.once('close', () => clearTimeout(timer))
  req.on('error', () => {})
  req.on('data', (chunk: Uint8Array) => {
    bytes += chunk.length
    if (bytes > DRAIN.bytes) req.destroy()
  })
  req.resume() // whoever refused the body has paused it
}

import type { ClientRequest } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { createConnections } from '../../shared/http.node.ts'
import type { Trust } from '../../shared/tls-trust.node.ts'
import type { FaultName } from '../faults/faults.ts'
import { type Answer, type OutgoingRequest, sendOver, type Target } from './http-client.ts'

// Sends requests that a correct HTTP client would refuse to send. Each request uses a separate connection.

/** Writes a request body with a fault. */
type BodyWriter = (req: ClientRequest, body: Uint8Array, options: BodyWriterOptions) => Promise<void>

interface BodyWriterOptions {
  delay: number | undefined
  /** Aborted when the request has ended. */
  signal: AbortSignal
  onWrite(bytes: number): void
}

const WRITERS: { [fault in FaultName]?: BodyWriter } = {
  async slow_drip(req, body, { delay = 100, signal, onWrite }) {
    for (let index = 0; index < body.length; index++) {
      req.write(body.subarray(index, index + 1))
      onWrite(1)
      await pause(delay, undefined, { signal })
    }
    req.end()
  },
  async connection_dropped(req, body, { onWrite }) {
    const half = body.subarray(0, body.length >> 1)
    await new Promise((resolve) => req.write(half, resolve))
    onWrite(half.length)
    req.destroy(new Error('the connection was dropped'))
  },
  async wrong_length(req, body, { onWrite }) {
    req.write(body)
    onWrite(body.length)
  },
}

export const isConnectionFault = (fault: FaultName | undefined): fault is FaultName =>
  fault !== undefined && fault in WRITERS

/** Value of the `content-length` header. */
export const contentLengthOf = (body: Uint8Array, fault: FaultName | undefined): number =>
  fault === 'wrong_length' ? body.length + 1 : body.length

interface ConnectionFaultOptions {
  fault: FaultName
  /** Milliseconds between bytes, for `slow_drip`. */
  delay: number | undefined
  /** Timeout in seconds. */
  seconds: number
  /** Default: Node's own CAs. */
  trust: Trust | undefined
  /** Called after each write, with the number of body bytes in this write. */
  onWrite(bytes: number): void
}

/** Sends one attempt with a connection fault. */
export async function sendWithConnectionFault(
  target: Target,
  request: OutgoingRequest,
  { fault, delay, seconds, trust, onWrite }: ConnectionFaultOptions,
): Promise<Answer> {
  const connections = createConnections(trust)
  const ended = new AbortController()
  const { body } = request
  const options = { delay, signal: ended.signal, onWrite }
  const length = contentLengthOf(body, fault)
  let written: Promise<void> | undefined
  try {
    return await sendOver(connections, target, request, { seconds, length }, (req) => {
      // Write errors can be ignored here, because `req` emits them as well.
      written = (WRITERS[fault] as BodyWriter)(req, body, options).catch(() => {})
    })
  } finally {
    ended.abort()
    connections.close()
    await written
  }
}

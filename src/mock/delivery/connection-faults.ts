import type { ClientRequest } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { createConnections } from '../../shared/http.node.ts'
import type { Trust } from '../../shared/tls-trust.node.ts'
import type { Fault, FaultName } from '../faults/faults.ts'
import { type Answer, type OutgoingRequest, sendOver, type Target } from './http-client.ts'

// Sends requests that a correct HTTP client would refuse to send. Each request uses a separate connection.

/**
 * Writes a request body with a fault.
 *
 * @param onWrite called after each write, with the number of body bytes in this write
 * @param delay milliseconds between bytes, for `slow_drip`
 * @param signal aborted when the request has ended
 */
type BodyWriter = (
  req: ClientRequest,
  body: Uint8Array,
  onWrite: (bytes: number) => void,
  delay: number | undefined,
  signal: AbortSignal,
) => Promise<void>

const WRITERS: { [fault in FaultName]?: BodyWriter } = {
  async slow_drip(req, body, onWrite, delay = 100, signal) {
    for (let index = 0; index < body.length; index++) {
      req.write(body.subarray(index, index + 1))
      onWrite(1)
      await pause(delay, undefined, { signal })
    }
    req.end()
  },
  async connection_dropped(req, body, onWrite) {
    const half = body.subarray(0, body.length >> 1)
    await new Promise((resolve) => req.write(half, resolve))
    onWrite(half.length)
    req.destroy(new Error('the connection was dropped'))
  },
  async wrong_length(req, body, onWrite) {
    req.write(body)
    onWrite(body.length)
  },
}

/** Value of the `content-length` header. */
export const contentLengthOf = (body: Uint8Array, fault: FaultName | undefined): number =>
  fault === 'wrong_length' ? body.length + 1 : body.length

/**
 * Sends one attempt with a connection fault.
 *
 * @param seconds timeout
 * @returns undefined for another fault
 */
export function sendWithConnectionFault(
  target: Target,
  request: OutgoingRequest,
  { fault, delay }: Readonly<Fault>,
  seconds: number,
  trust: Trust | undefined,
  onWrite: (bytes: number) => void,
): Promise<Answer> | undefined {
  const writer = WRITERS[fault]
  if (!writer) return undefined
  const connections = createConnections(trust)
  const ended = new AbortController()
  let written: Promise<void> | undefined
  const length = contentLengthOf(request.body, fault)
  return sendOver(connections, target, request, { seconds, length }, (req) => {
    // Write errors can be ignored here, because `req` emits them as well.
    written = writer(req, request.body, onWrite, delay, ended.signal).catch(() => {})
  }).finally(() => {
    ended.abort()
    connections.close()
    return written
  })
}

import { once } from 'node:events'
import * as http from 'node:http'
import * as https from 'node:https'
import { setTimeout as pause } from 'node:timers/promises'
import type { Trust } from '../../shared/tls-trust.node.ts'
import type { RawRequest } from '../../testing/signer.ts'
import type { FaultName } from '../faults/faults.ts'
import {
  type Answer,
  createTextReader,
  type Target,
  timeoutError,
  toAnswer,
  toSendError,
} from './http-client.ts'

// Sends requests that a correct HTTP client would refuse to send. Each request uses a separate connection.

/** Writes a request body with a fault. */
type BodyWriter = (req: http.ClientRequest, body: Uint8Array, options: BodyWriterOptions) => Promise<void>

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

/** Options of {@link sendWithConnectionFault}. */
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
  { hookUrl, origin }: Target,
  { headers, body }: RawRequest,
  { fault, delay, seconds, trust, onWrite }: ConnectionFaultOptions,
): Promise<Answer> {
  const isSecure = origin.startsWith('https:')
  const { request } = isSecure ? https : http
  const signal = AbortSignal.timeout(seconds * 1000)
  const req = request(hookUrl, {
    method: 'POST',
    headers: { ...headers, 'content-length': contentLengthOf(body, fault) },
    agent: isSecure && trust ? new https.Agent({ secureContext: trust() }) : false,
    signal,
  })
  const ended = new AbortController()
  const write = WRITERS[fault] as BodyWriter
  // Write errors can be ignored here, because `req` emits them as well.
  const written = write(req, body, { delay, signal: ended.signal, onWrite }).catch(() => {})
  try {
    const [res] = (await once(req, 'response', { signal })) as [http.IncomingMessage]
    return toAnswer(res.statusCode ?? 0, res.headers, await readText(res))
  } catch (error) {
    throw signal.aborted ? timeoutError(seconds) : toSendError(error, origin)
  } finally {
    ended.abort()
    req.on('error', () => {}).destroy()
    await written
  }
}

async function readText(res: http.IncomingMessage): Promise<string> {
  const text = createTextReader()
  for await (const chunk of res) if (!text.add(chunk)) break
  return text.end()
}

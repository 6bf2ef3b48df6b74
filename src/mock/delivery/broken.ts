import { once } from 'node:events'
import * as http from 'node:http'
import * as https from 'node:https'
import { setTimeout as pause } from 'node:timers/promises'
import type { SignedRequest } from '../../testing/signer.ts'
import type { FaultName } from './faults.ts'
import { type Answer, readText } from './send.ts'

// What a well-behaved client refuses to send, on a connection of its own.

/** Writes the body of a request in its own way, until the signal says that it is over. */
type BodyWriter = (
  req: http.ClientRequest,
  body: Uint8Array,
  delay: number | undefined,
  over: AbortSignal,
) => Promise<void>

/** The faults of a connection, and how each writes the body. */
const WRITERS: { [fault in FaultName]?: BodyWriter } = {
  async slow_drip(req, body, delay = 100, over) {
    for (let index = 0; index < body.length; index++) {
      req.write(body.subarray(index, index + 1))
      await pause(delay, undefined, { signal: over })
    }
    req.end()
  },
  async connection_dropped(req, body) {
    await new Promise((resolve) => req.write(body.subarray(0, body.length >> 1), resolve))
    req.destroy(new Error('the connection was dropped'))
  },
  async wrong_length(req, body) {
    req.write(body)
  },
}

/** Whether the fault is one of the connection. */
export const isBroken = (fault: FaultName | undefined): fault is FaultName =>
  fault !== undefined && fault in WRITERS

/** Sends one attempt with a fault of the connection. */
export async function sendBroken(
  url: string,
  { headers, body }: SignedRequest,
  { fault, delay, signal }: { fault: FaultName; delay: number | undefined; signal: AbortSignal },
): Promise<Answer> {
  const { request } = url.startsWith('https:') ? https : http
  const length = fault === 'wrong_length' ? body.length + 1 : body.length
  const req = request(url, {
    method: 'POST',
    headers: { ...headers, 'content-length': length },
    agent: false,
    signal,
  })
  const over = new AbortController()
  const write = WRITERS[fault] as BodyWriter
  // What the writing meets is an error of the request too, and said there.
  const written = write(req, body, delay, over.signal).catch(() => {})
  try {
    const [res] = (await once(req, 'response')) as [http.IncomingMessage]
    return { status: res.statusCode ?? 0, headers: res.headers, body: await readText(res) }
  } finally {
    over.abort()
    req.on('error', () => {}).destroy()
    await written
  }
}

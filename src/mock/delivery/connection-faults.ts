import { once } from 'node:events'
import * as http from 'node:http'
import * as https from 'node:https'
import { setTimeout as pause } from 'node:timers/promises'
import type { SignedRequest } from '../../testing/signer.ts'
import { type Answer, AnswerBody, toAnswer } from './answer.ts'
import type { FaultName } from './faults.ts'
import { timedOut } from './http-client.ts'
import type { Target } from './target.ts'

// What a well-behaved client refuses to send, on a connection of its own.

/** Writes the body of a request in its own way, until the signal says that it is over. */
type BodyWriter = (
  req: http.ClientRequest,
  body: Uint8Array,
  options: { delay: number | undefined; over: AbortSignal; wrote(bytes: number): void },
) => Promise<void>

/** The faults of a connection, and how each writes the body. */
const WRITERS: { [fault in FaultName]?: BodyWriter } = {
  async slow_drip(req, body, { delay = 100, over, wrote }) {
    for (let index = 0; index < body.length; index++) {
      req.write(body.subarray(index, index + 1))
      wrote(1)
      await pause(delay, undefined, { signal: over })
    }
    req.end()
  },
  async connection_dropped(req, body, { wrote }) {
    const half = body.subarray(0, body.length >> 1)
    await new Promise((resolve) => req.write(half, resolve))
    wrote(half.length)
    req.destroy(new Error('the connection was dropped'))
  },
  async wrong_length(req, body, { wrote }) {
    req.write(body)
    wrote(body.length)
  },
}

/** Whether the fault is one of the connection. */
export const isBroken = (fault: FaultName | undefined): fault is FaultName =>
  fault !== undefined && fault in WRITERS

/** What `content-length` says. */
export const lengthOf = (body: Uint8Array, fault: FaultName | undefined): number =>
  fault === 'wrong_length' ? body.length + 1 : body.length

/** What {@link sendBroken} takes beside the request. */
export interface BrokenOptions {
  fault: FaultName
  delay: number | undefined
  /** How long it may take. */
  seconds: number
  wrote(bytes: number): void
}

/** Sends one attempt with a fault of the connection. */
export async function sendBroken(
  { hookUrl, origin }: Target,
  { headers, body }: SignedRequest,
  { fault, delay, seconds, wrote }: BrokenOptions,
): Promise<Answer> {
  const { request } = origin.startsWith('https:') ? https : http
  const signal = AbortSignal.timeout(seconds * 1000)
  const req = request(hookUrl, {
    method: 'POST',
    headers: { ...headers, 'content-length': lengthOf(body, fault) },
    agent: false,
    signal,
  })
  const over = new AbortController()
  const write = WRITERS[fault] as BodyWriter
  // What the writing meets is an error of the request too, and said there.
  const written = write(req, body, { delay, over: over.signal, wrote }).catch(() => {})
  try {
    const [res] = (await once(req, 'response', { signal })) as [http.IncomingMessage]
    return toAnswer(res.statusCode ?? 0, res.headers, await readText(res))
  } catch (error) {
    throw signal.aborted ? timedOut(seconds) : error
  } finally {
    over.abort()
    req.on('error', () => {}).destroy()
    await written
  }
}

async function readText(res: http.IncomingMessage): Promise<string> {
  const body = new AnswerBody()
  for await (const chunk of res) if (!body.add(chunk)) break
  return body.text()
}

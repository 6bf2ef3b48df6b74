import type { ClientRequest } from 'node:http'
import { setImmediate as endOfTurn } from 'node:timers/promises'
import { describeCertificateError } from '../../shared/certificate-errors.ts'
import type { HeaderPairs } from '../../shared/headers.ts'
import { type Connections, type RawRequest as Exchange, exchange } from '../../shared/http.node.ts'
import { isLoopback } from '../../shared/loopback.ts'
import type { RawRequest } from '../../testing/signer.ts'
import { toHostname } from '../http/server.ts'

/** A receiver's response. */
export interface Answer {
  readonly status: number
  readonly headers: AnswerHeaders
  /** The first 64 KiB, as text. */
  readonly body: string
}

type AnswerHeaders = Readonly<Record<string, string | string[] | undefined>>

/** A parsed payload URL. */
export interface Target {
  hookUrl: string
  origin: string
  /** Path and query. */
  path: string
  /** Value of the `host` header. */
  host: string
  /** True if the host is this machine or one of `allowHosts`. */
  isAllowed: boolean
}

export function toTarget(hookUrl: string, allowHosts: readonly string[]): Target {
  const { origin, pathname, search, host, hostname } = new URL(hookUrl)
  const isAllowed = isLoopback(hostname) || allowHosts.some((allowed) => toHostname(allowed) === hostname)
  return { hookUrl, origin, path: pathname + search, host, isAllowed }
}

/** A delivery, or a handshake. */
export type OutgoingRequest = Omit<RawRequest, 'method'> & { method: 'GET' | 'POST' }

/**
 * Sends a request. Follows no redirects.
 *
 * @param seconds timeout
 * @param losesAnswer true to close the connection when the response begins
 */
export async function sendRequest(
  connections: Connections,
  target: Target,
  request: OutgoingRequest,
  seconds: number,
  losesAnswer = false,
): Promise<Answer> {
  // Two turns of the event loop let connections end that a receiver closes with its response.
  await endOfTurn()
  await endOfTurn()
  const onResponse = losesAnswer ? loseAnswer : undefined
  return sendOver(connections, target, request, { seconds, onResponse }, (req) => req.end(request.body))
}

function loseAnswer(): never {
  throw new Error('the answer was lost')
}

/** Maximum number of bytes that are read of a response. */
export const MAX_ANSWER: number = 64 * 1024

/**
 * Sends a request with a body of any form.
 *
 * @param limits the timeout from connecting to the last byte of the response, and the value of `content-length`
 * @param write writes the body
 */
export async function sendOver(
  connections: Connections,
  { origin, path, host }: Target,
  { method, headers, body }: OutgoingRequest,
  {
    seconds,
    length = body.length,
    onResponse,
  }: { seconds: number; length?: number; onResponse?: Exchange['onResponse'] },
  write: (req: ClientRequest) => unknown,
): Promise<Answer> {
  const url = new URL(origin + path)
  const framed = { host, ...headers, ...(method === 'POST' && { 'content-length': String(length) }) }
  const request = { method, headers: Object.entries(framed), agent: connections.agentFor(url), onResponse }
  const limits = { timeout: seconds * 1000, limit: MAX_ANSWER, isCut: true }
  try {
    const { status, headers, body } = await exchange(url, { ...request, ...limits }, write)
    return toAnswer(status, headers, body.toString())
  } catch (error) {
    const problem = describeCertificateError(error, origin)
    throw problem === undefined ? error : new Error(problem, { cause: error })
  }
}

/** Returns a frozen object, so that callers cannot change the response in the log. */
function toAnswer(status: number, pairs: HeaderPairs, body: string): Answer {
  const headers = new Map<string, string | string[]>()
  for (const [name, value] of pairs) {
    const before = headers.get(name.toLowerCase())
    headers.set(name.toLowerCase(), before === undefined ? value : [before, value].flat())
  }
  return Object.freeze({ status, headers: Object.freeze(Object.fromEntries(headers)), body })
}

import type { ClientRequest } from 'node:http'
import { setImmediate as endOfTurn } from 'node:timers/promises'
import { describeCertificateError } from '../../shared/certificate-errors.ts'
import type { HeaderPairs } from '../../shared/headers.ts'
import {
  type Connections,
  createConnections,
  type RawRequest as Exchange,
  exchange,
} from '../../shared/http.node.ts'
import { isLoopback } from '../../shared/loopback.ts'
import type { Trust } from '../../shared/tls-trust.node.ts'
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

/** Sends requests over connections that are kept open. It follows no redirects. */
export interface HttpClient {
  /** @param losesAnswer true to close the connection when the response begins */
  send(target: Target, request: OutgoingRequest, seconds: number, losesAnswer?: boolean): Promise<Answer>
  close(): void
}

/** @param trust default: Node's own CAs */
export function createHttpClient(trust?: Trust): HttpClient {
  const connections = createConnections(trust)
  return {
    async send(target, request, seconds, losesAnswer = false) {
      // Two turns of the event loop let connections end that a receiver closes with its response.
      await endOfTurn()
      await endOfTurn()
      const onResponse = losesAnswer ? loseAnswer : undefined
      return sendOver(connections, target, request, { seconds, onResponse }, (req) => req.end(request.body))
    },
    close: () => connections.close(),
  }
}

function loseAnswer(): never {
  throw new Error('the answer was lost')
}

/** Maximum number of bytes that are read of a response. */
export const MAX_ANSWER: number = 64 * 1024

/** Options of {@link sendOver}. */
interface SendOptions {
  /** Timeout in seconds, from connecting to the last byte of the response. */
  seconds: number
  /** Value of `content-length`. Default: the length of the body. */
  length?: number
  onResponse?: Exchange['onResponse']
}

/** @param write writes the body */
export async function sendOver(
  connections: Connections,
  { origin, path, host }: Target,
  { method, headers, body }: OutgoingRequest,
  { seconds, length = body.length, onResponse }: SendOptions,
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

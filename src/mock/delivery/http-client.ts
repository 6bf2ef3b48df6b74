import type { ClientRequest } from 'node:http'
import { setImmediate as endOfTurn } from 'node:timers/promises'
import { describeCertificateError } from '../../shared/certificate-errors.ts'
import type { HeaderPairs } from '../../shared/headers.ts'
import { type Connections, type RawRequest as Exchange, exchange } from '../../shared/http.node.ts'
import { isLoopback } from '../../shared/loopback.ts'
import type { RawRequest } from '../../testing/signer.ts'
import { toHostname } from '../http/server.ts'
import type { Answer } from '../state/records.ts'

/** True if the host of a URL is this machine or one of the option `allowHosts`. */
export const isAllowed = ({ hostname }: URL, allowHosts: readonly string[]): boolean =>
  isLoopback(hostname) || allowHosts.some((allowed) => toHostname(allowed) === hostname)

/** A delivery, or a handshake, with all its headers. */
export type OutgoingRequest = Omit<RawRequest, 'method'> & { method: 'GET' | 'POST' }

/** Writes the body of a request, and ends the request unless a fault says otherwise. Never rejects. */
export type BodyWriter = (req: ClientRequest, body: Uint8Array) => unknown

/** Maximum number of bytes that are read of a response. */
export const MAX_ANSWER: number = 64 * 1024

/**
 * Sends a request. Follows no redirects.
 *
 * @param seconds timeout from connecting to the last byte of the response
 */
export async function sendRequest(
  connections: Connections,
  url: URL,
  { method, headers, body }: OutgoingRequest,
  seconds: number,
  {
    write = (req, body) => req.end(body),
    onResponse,
  }: { write?: BodyWriter | undefined; onResponse?: Exchange['onResponse'] } = {},
): Promise<Answer> {
  // Two turns of the event loop let connections end that a receiver closes with its response.
  await endOfTurn()
  await endOfTurn()
  const request = { method, headers: Object.entries(headers), agent: connections.agentFor(url), onResponse }
  const limits = { timeout: seconds * 1000, limit: MAX_ANSWER, isCut: true }
  let written: unknown
  try {
    const answer = await exchange(url, { ...request, ...limits }, (req) => {
      written = write(req, body)
    })
    return toAnswer(answer.status, answer.headers, answer.body.toString())
  } catch (error) {
    const problem = describeCertificateError(error, url.origin)
    throw problem === undefined ? error : new Error(problem, { cause: error })
  } finally {
    await written
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

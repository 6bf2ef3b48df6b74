import type { ServerResponse } from 'node:http'
import type { Outcome } from '../../index.ts'
import { toCliError } from '../errors.ts'
import { endToEnd, exchange, type HttpAnswer, type HttpRequest } from '../io/http.ts'

/** What became of a delivery that was passed on. */
export type Forwarded = { answer: HttpAnswer } | { error: string }

/** Passes the exact bytes on, with the headers that are not about the connection. */
export async function forward(to: URL, request: HttpRequest, stop: AbortSignal): Promise<Forwarded> {
  try {
    const answer = await exchange(to, { ...request, headers: endToEnd(request.headers) }, { stop })
    // Nothing else can be passed on (RFC 9110 section 15).
    if (answer.status >= 200 && answer.status <= 599) return { answer }
    return { error: `answered ${answer.status}, which is no status of an answer` }
  } catch (error) {
    return { error: toCliError(error).message }
  }
}

/** Gives the sender what the target answered. */
export async function writeForwarded(
  res: ServerResponse,
  { status, headers, body }: HttpAnswer,
): Promise<void> {
  const { socket } = res.req
  if (res.destroyed || socket.destroyed) return
  // A response that waits behind another on its connection is not closed with it on Node 20.
  const gone = new Promise<void>((resolve) => {
    res.once('close', resolve)
    socket.setMaxListeners(0).once('close', resolve)
  })
  const flat = endToEnd(headers).flat()
  // These have no body, and must not say that they have one (RFC 9110 section 8.6).
  if (status !== 204 && status !== 304) flat.push('content-length', String(body.length))
  res.writeHead(status, flat)
  res.end(body)
  await gone
}

/** The target did not answer, so the sender should try again. */
export const toBadGateway = (outcome: Outcome): Outcome => ({
  ...outcome,
  status: 502,
  headers: { 'content-type': 'application/problem+json', 'retry-after': '5' },
  body: JSON.stringify({ title: 'Bad gateway', status: 502, code: 'target_unreachable' }),
})

/** Whether a delivery that is passed on would come back. */
export function comesBack(to: URL, own: string): boolean {
  const { hostname, port } = new URL(own)
  const names =
    hostname === '0.0.0.0' || hostname.startsWith('127.') ? ['localhost', '127.0.0.1', hostname] : [hostname]
  return names.includes(to.hostname) && (to.port || '80') === (port || '80')
}

import type { ServerResponse } from 'node:http'
import type { Outcome } from '../../index.ts'
import type { Trust } from '../../shared/tls-trust.node.ts'
import { toCliError } from '../errors.ts'
import { endToEnd, type HttpRequest, type HttpResponse, sendRequest } from '../io/http.ts'

/** The target's response, or the reason why forwarding failed. */
export type ForwardResult = { response: HttpResponse } | { error: string }

export interface ForwardTarget {
  url: URL
  /** Timeout for the complete response in milliseconds. */
  timeout: number
  trust: Trust
}

/** Forwards a request with its exact body and its end-to-end headers. */
export async function forward(
  { url, timeout, trust }: ForwardTarget,
  request: HttpRequest,
  signal: AbortSignal,
): Promise<ForwardResult> {
  try {
    const response = await sendRequest(
      url,
      { ...request, headers: endToEnd(request.headers) },
      { signal, timeout, trust },
    )
    // Only 200 to 599 are valid statuses of a final response (RFC 9110 section 15).
    if (response.status >= 200 && response.status <= 599) return { response }
    return { error: `answered ${response.status}, which is not a valid final status` }
  } catch (error) {
    return { error: toCliError(error).message }
  }
}

/** Sends the target's response to the sender. Resolves when the response or its connection is closed. */
export async function writeForwarded(
  res: ServerResponse,
  { status, headers, body }: HttpResponse,
): Promise<void> {
  const { socket } = res.req
  if (res.destroyed || socket.destroyed) return
  // Also listens to the socket: on Node 20, a pipelined response does not emit 'close' when its connection is closed.
  const closed = new Promise<void>((resolve) => {
    res.once('close', resolve)
    socket.setMaxListeners(0).once('close', resolve)
  })
  const flat = endToEnd(headers).flat()
  // 204 and 304 have no body and must not declare a length (RFC 9110 section 8.6).
  if (status !== 204 && status !== 304) flat.push('content-length', String(body.length))
  res.writeHead(status, flat)
  res.end(body)
  await closed
}

/** Replaces an outcome with a 502 response that asks the sender to retry, because the target did not respond. */
export const toBadGateway = (outcome: Outcome): Outcome => ({
  ...outcome,
  status: 502,
  headers: { 'content-type': 'application/problem+json', 'retry-after': '5' },
  body: JSON.stringify({ title: 'Bad gateway', status: 502, code: 'target_unreachable' }),
})

/** Returns true if the target is this listener, which would forward deliveries to itself in a loop. */
export function isLoop(to: URL, listenerUrl: string): boolean {
  const listener = new URL(listenerUrl)
  const { hostname } = listener
  const names =
    hostname === 'localhost' || hostname === '0.0.0.0' || hostname.startsWith('127.')
      ? ['localhost', '127.0.0.1', hostname]
      : [hostname]
  return names.includes(to.hostname) && portOf(to) === portOf(listener)
}

const portOf = ({ port, protocol }: URL): string => port || (protocol === 'https:' ? '443' : '80')

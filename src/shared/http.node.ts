import * as http from 'node:http'
import * as https from 'node:https'
import type { Socket } from 'node:net'
import type * as tls from 'node:tls'
import { describeCertificateError } from './certificate-errors.ts'
import { CONNECTION_ERRORS } from './connection-errors.ts'
import { type HeaderPairs, pairRaw } from './headers.ts'
import type { Trust } from './tls-trust.node.ts'

export interface HttpRequest {
  method: string
  /** Without `host` and `content-length`, which are added. */
  headers: HeaderPairs
  body: Uint8Array
}

export interface HttpResponse {
  status: number
  headers: HeaderPairs
  body: Buffer
}

export interface HttpLimits {
  /** Timeout for the complete response in milliseconds. Default: 30,000, because a receiver under test may be slow. */
  timeout?: number
  /** Maximum size of the response body in bytes. Default: 64 MiB. */
  limit?: number
  /** True to return the first `limit` bytes of a longer response body; otherwise it is an error. */
  isCut?: boolean
  signal?: AbortSignal | undefined
}

/** A request that got no complete response. Its message names the host. */
export interface SendError extends Error {
  /** `invalid`: a header or the method is not valid in HTTP. */
  readonly reason: 'unreachable' | 'too_large' | 'invalid'
  readonly hint: string | undefined
}

export const isSendError = (error: unknown): error is SendError =>
  error instanceof Error && error.name === 'SendError'

/**
 * Sends a request with the body and headers unchanged, over a connection of its own. Does not follow redirects.
 *
 * @param trust the CAs to trust. Default: Node's own
 * @throws {SendError}, or what `trust` throws
 */
export async function sendRequest(
  url: URL,
  { method, headers, body }: HttpRequest,
  { trust, ...limits }: HttpLimits & { trust?: Trust | undefined } = {},
): Promise<HttpResponse> {
  const secure = url.protocol === 'https:' && trust ? { secureContext: trust() } : {}
  const agent = url.protocol === 'https:' ? new https.Agent(secure) : new http.Agent()
  // Every method gets a content-length: without it, the server would read the body as the next request.
  const framed = [['host', url.host], ...headers, ['content-length', String(body.length)]] as const
  try {
    return await exchange(url, { method, headers: framed, agent, ...limits }, (req) => req.end(body))
  } catch (error) {
    throw toSendError(error, url)
  }
}

/** Connections that are kept open between requests. */
export interface Connections {
  agentFor(url: URL): http.Agent
  /** Closes those that no request uses. */
  close(): void
}

/** Milliseconds after which an unused connection is closed. Servers close theirs later, so they do not lose a request. */
const MAX_IDLE = 1_000

/** @param trust called for each new TLS connection. Default: Node's own CAs */
export function createConnections(trust: Trust | undefined): Connections {
  const options = { keepAlive: true, timeout: MAX_IDLE }
  const plain = closeWithServer(new http.Agent(options))
  const secure = closeWithServer(trust ? createTrustingAgent(trust, options) : new https.Agent(options))
  return {
    agentFor: ({ protocol }) => (protocol === 'https:' ? secure : plain),
    close() {
      plain.destroy()
      secure.destroy()
    },
  }
}

/** Closes a connection as soon as the server ends it: until the event `close`, Node would send requests over it. */
function closeWithServer(agent: http.Agent): http.Agent {
  const { createConnection } = agent
  return Object.assign(agent, {
    createConnection(...given: Parameters<typeof createConnection>) {
      const socket = createConnection.apply(agent, given)
      return socket?.once('end', () => socket.destroy())
    },
  })
}

function createTrustingAgent(trust: Trust, options: https.AgentOptions): https.Agent {
  /** An agent caches TLS sessions, and a resumed session is not verified again. So each context has its own. */
  let current: { secureContext: ReturnType<Trust>; sessions: https.Agent } | undefined
  return Object.assign(new https.Agent(options), {
    createConnection(connection: object, done: (error: unknown) => void) {
      try {
        const secureContext = trust()
        if (current?.secureContext !== secureContext) current = { secureContext, sessions: new https.Agent() }
        const options: tls.ConnectionOptions = { ...connection, secureContext }
        return current.sessions.createConnection(options as https.RequestOptions)
      } catch (error) {
        return done(error)
      }
    },
  })
}

export interface RawRequest extends HttpLimits {
  method: string
  /** All headers, including `host` and `content-length`, in their order and case. */
  headers: HeaderPairs
  agent: http.Agent
  /** Called when the response begins. If it throws, the connection is closed. */
  onResponse?: ((response: http.IncomingMessage) => void) | undefined
}

/**
 * Sends a request as it is given.
 *
 * @param write writes the body, and ends the request
 * @throws Node's error, or a {@link SendError} if the response is late or too large
 */
export async function exchange(
  url: URL,
  { method, headers, agent, timeout = 30_000, limit = 64 * 1024 * 1024, isCut = false, ...more }: RawRequest,
  write: (req: http.ClientRequest) => unknown,
): Promise<HttpResponse> {
  const { request } = url.protocol === 'https:' ? https : http
  // A flat list keeps the case, order and repetition of headers.
  const req = request(url, { method, headers: headers.flat(), agent, signal: more.signal })
  let failure: Error | undefined
  const timer = setTimeout(() => {
    failure = sendError('unreachable', `no response within ${timeout / 1000} s`)
    req.destroy(failure)
  }, timeout)
  try {
    const response = await new Promise<http.IncomingMessage>((resolve, reject) => {
      req.once('response', resolve).on('error', reject)
      for (const event of ['upgrade', 'connect'])
        req.once(event, (_response, socket: Socket) => {
          socket.destroy()
          reject(new Error('the host switched to another protocol'))
        })
      write(req)
    })
    more.onResponse?.(response)
    const { socket } = response
    const body = await readBody(response, limit, isCut)
    // A body without a length ends with the connection, so it does not show that it is incomplete.
    if (socket.errored) throw socket.errored
    return { status: response.statusCode ?? 0, headers: pairRaw(response.rawHeaders), body }
  } catch (error) {
    throw failure ?? error
  } finally {
    clearTimeout(timer)
    req.destroy() // has no effect on a connection that another request can use
  }
}

async function readBody(response: http.IncomingMessage, limit: number, isCut: boolean): Promise<Buffer> {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of response as AsyncIterable<Buffer>) {
    chunks.push(chunk)
    length += chunk.length
    if (length <= limit) continue
    if (isCut) break // closes the connection
    throw sendError('too_large', `the response is larger than ${limit} bytes`)
  }
  return Buffer.concat(chunks).subarray(0, limit)
}

/** Why a host is unreachable, by Node error code. */
const REASONS: ReadonlyMap<string, string> = new Map([
  ...CONNECTION_ERRORS,
  ['HPE_INVALID_CONSTANT', 'the host does not speak HTTP'],
])

const INVALID = /^ERR_(INVALID_CHAR|INVALID_HTTP_TOKEN|HTTP_INVALID_HEADER_VALUE|UNESCAPED_CHARACTERS)$/

function toSendError(thrown: unknown, { origin }: URL): SendError {
  const error = firstOf(thrown)
  const { code = '', message } = error
  if (isSendError(error) && error.reason === 'too_large') return error
  if (INVALID.test(code)) return sendError('invalid', `the request cannot be written: ${message}`)
  const certificate = describeCertificateError(error, origin)
  if (certificate !== undefined) return sendError('unreachable', certificate)
  const why = REASONS.get(code) ?? (message || code)
  const hint = code === 'ECONNREFUSED' ? 'Is it running, and is the port right?' : 'Check the address.'
  return sendError('unreachable', `cannot reach ${origin}: ${why}`, hint)
}

const sendError = (reason: SendError['reason'], message: string, hint?: string): SendError =>
  Object.assign(new Error(message), { name: 'SendError', reason, hint })

/** Returns the first error in an AggregateError, which Node throws if all addresses of a host name fail. */
const firstOf = (error: unknown): NodeJS.ErrnoException =>
  error instanceof AggregateError ? firstOf(error.errors[0]) : (error as NodeJS.ErrnoException)

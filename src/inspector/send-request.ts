import type { Agent, IncomingMessage, request as RequestFunction } from 'node:http'
import type { Socket } from 'node:net'
import { describeCertificateError } from '../shared/certificate-errors.ts'
import { CONNECTION_ERRORS } from '../shared/connection-errors.ts'
import type { Trust } from '../shared/tls-trust.node.ts'
import type { HeaderPairs } from './source.ts'

export type { HeaderPairs } from './source.ts'

export interface HttpRequest {
  method: string
  headers: HeaderPairs
  body: Uint8Array
}

export interface HttpResponse {
  status: number
  headers: HeaderPairs
  body: Buffer
}

export interface RequestLimits {
  /** Timeout for the complete response in milliseconds. Default: 30,000, because a receiver under test may be slow. */
  timeout?: number
  /** Maximum size of the response body in bytes. Default: 64 MiB. */
  limit?: number
  /** True to return the first `limit` bytes of a longer response body; otherwise it is an error. */
  isCut?: boolean
  /** The CAs to trust. Default: Node's own. */
  trust?: Trust | undefined
  signal?: AbortSignal | undefined
}

/** A request that got no complete response. */
export class SendError extends Error {
  /** `invalid`: a header or the method is not valid in HTTP. */
  readonly reason: 'unreachable' | 'too_large' | 'invalid'
  readonly hint: string | undefined

  constructor(reason: SendError['reason'], message: string, hint?: string) {
    super(message)
    this.name = 'SendError'
    this.reason = reason
    this.hint = hint
  }
}

/**
 * Sends a request with the body and headers unchanged. Does not follow redirects.
 *
 * @throws {SendError}, or what `trust` throws
 */
export async function sendRequest(
  url: URL,
  { method, headers, body }: HttpRequest,
  { timeout = 30_000, limit = 64 * 1024 * 1024, isCut = false, trust, signal }: RequestLimits = {},
): Promise<HttpResponse> {
  const { request, agent } = await transportFor(url, trust)
  const timeoutSignal = AbortSignal.timeout(timeout)
  const anySignal = signal ? AbortSignal.any([timeoutSignal, signal]) : timeoutSignal
  // A flat list keeps the case, order and repetition of headers. Every method gets a content-length: without it, the
  // server would read the body as the next request.
  const flat = [['host', url.host], ...headers, ['content-length', String(body.length)]].flat()
  try {
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      const req = request(url, { method, headers: flat, signal: anySignal, agent })
      req.once('response', resolve).once('error', reject)
      for (const event of ['upgrade', 'connect'])
        req.once(event, (_response, socket: Socket) => {
          socket.destroy()
          reject(new Error('the host switched to another protocol'))
        })
      req.end(body)
    })
    const { socket } = response
    const received = await readBody(response, limit, isCut)
    // A body without a length ends with the connection, so it does not show that it is incomplete.
    if (socket.errored) throw socket.errored
    return { status: response.statusCode ?? 0, headers: toPairs(response.rawHeaders), body: received }
  } catch (error) {
    if (error instanceof SendError) throw error
    throw toSendError(error, url, timeoutSignal.aborted ? timeout : undefined)
  }
}

/** The agent keeps no connection open. */
async function transportFor(
  { protocol }: URL,
  trust: Trust | undefined,
): Promise<{ request: typeof RequestFunction; agent: Agent | false }> {
  if (protocol !== 'https:') return { request: (await import('node:http')).request, agent: false }
  const { request, Agent } = await import('node:https')
  return { request, agent: trust ? new Agent({ secureContext: trust() }) : false }
}

async function readBody(response: IncomingMessage, limit: number, isCut: boolean): Promise<Buffer> {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of response as AsyncIterable<Buffer>) {
    chunks.push(chunk)
    length += chunk.length
    if (length <= limit) continue
    if (isCut) break // closes the connection
    throw new SendError('too_large', `the response is larger than ${limit} bytes`)
  }
  return Buffer.concat(chunks).subarray(0, limit)
}

/** Why a host is unreachable, by Node error code. */
const REASONS: ReadonlyMap<string, string> = new Map([
  ...CONNECTION_ERRORS,
  ['HPE_INVALID_CONSTANT', 'the host does not speak HTTP'],
])

function toSendError(error: unknown, url: URL, timeout: number | undefined): SendError {
  const { code = '', message } = firstOf(error)
  if (/^ERR_(INVALID_CHAR|INVALID_HTTP_TOKEN|HTTP_INVALID_HEADER_VALUE|UNESCAPED_CHARACTERS)$/.test(code)) {
    return new SendError('invalid', `the request cannot be written: ${message}`)
  }
  const certificate = describeCertificateError(firstOf(error), url.origin)
  if (certificate !== undefined) return new SendError('unreachable', certificate)
  const why = timeout ? `no response within ${timeout / 1000} s` : (REASONS.get(code) ?? (message || code))
  return new SendError('unreachable', `cannot reach ${url.origin}: ${why}`, hintFor(code))
}

/** Returns the first error in an AggregateError, which Node throws if all addresses of a host name fail. */
function firstOf(error: unknown): NodeJS.ErrnoException {
  return error instanceof AggregateError ? firstOf(error.errors[0]) : (error as NodeJS.ErrnoException)
}

const hintFor = (code: string): string =>
  code === 'ECONNREFUSED' ? 'Is it running, and is the port right?' : 'Check the address.'

/** Converts Node's flat list of names and values to pairs. */
export function toPairs(raw: readonly string[]): [string, string][] {
  return raw.flatMap((name, index) =>
    index % 2 === 0 ? [[name, raw[index + 1] ?? ''] as [string, string]] : [],
  )
}

/**
 * Headers that apply to one connection only (RFC 9110 section 7.6.1), headers that `sendRequest` sets, and the
 * pseudo-headers of HTTP/2.
 */
const HOP_BY_HOP =
  /^(connection|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade|expect|host|content-length|:.*)$/i

/**
 * Returns the headers to forward to another host. Ignores the names in the `connection` header, because an attacker
 * could list the signature header there to remove it.
 */
export const endToEnd = (headers: HeaderPairs): HeaderPairs =>
  headers.filter(([name]) => !HOP_BY_HOP.test(name))

import type { IncomingMessage, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { headersOf } from '../adapters/node-http.ts'
import { remoteAddressOf } from '../receiver/request.ts'
import type { HeaderBag } from '../receiver/types.ts'
import { isBase } from './options.ts'
import type { Values } from './source.ts'

/** A request to the inspector, from Node's server or a web `Request`. */
export interface InspectorRequest {
  /** Upper case; HEAD is passed as GET. */
  method: string
  /** Path below the base, not decoded, for example `/deliveries/7`. */
  path: string
  query: URLSearchParams
  headers: HeaderBag
  /** Path at which the inspector is mounted, without a slash at its end; often empty. */
  base: string
  /** True if the request arrived over TLS. */
  isSecure: boolean
  /** For example `1.1`. Undefined if the platform does not know it. */
  httpVersion: string | undefined
  /** Undefined if the platform does not know it. */
  remoteAddress: string | undefined
  /**
   * Reads the submitted form. Line breaks are LF.
   *
   * @throws {InspectorError} 413 if it is too large, 415 if it is not a form
   */
  readForm(): Promise<Values>
  /** The platform's own request, for `authorize`. */
  original: object
}

/** The response of the inspector. */
export interface InspectorResponse {
  status: number
  headers: Record<string, string>
  body: string | Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array>
}

/** An error that the page shows to the user. */
export class InspectorError extends Error {
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.name = 'InspectorError'
    this.status = status
  }
}

/** Headers of every response. They keep other sites from reading, framing and caching deliveries. */
const SECURITY_HEADERS: Readonly<Record<string, string>> = {
  'cache-control': 'no-store',
  'content-security-policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self'",
    "connect-src 'self'",
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join('; '),
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  // With `no-referrer`, browsers would submit forms with the origin `null`, which the guard refuses.
  'referrer-policy': 'same-origin',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
}

/** Creates a response with the security headers. */
export function respond(
  status: number,
  contentType: string,
  body: InspectorResponse['body'],
  headers: Readonly<Record<string, string>> = {},
): InspectorResponse {
  return { status, headers: { ...SECURITY_HEADERS, 'content-type': contentType, ...headers }, body }
}

export const respondHtml = (
  status: number,
  markup: string,
  headers?: Readonly<Record<string, string>>,
): InspectorResponse => respond(status, 'text/html; charset=utf-8', markup, headers)

/** Redirects to another page after a form was submitted. */
export const redirect = (
  location: string,
  headers: Readonly<Record<string, string>> = {},
): InspectorResponse => respond(303, 'text/plain; charset=utf-8', '', { ...headers, location })

/** Maximum size of a submitted form in bytes. */
const MAX_FORM = 4 * 1024 * 1024
const MAX_FIELDS = 100

/** @throws {InspectorError} 415 if the media type is not that of a form, which is what browsers send */
function requireFormType(contentType: string | undefined): void {
  if (!/^application\/x-www-form-urlencoded\s*(;|$)/i.test(contentType ?? ''))
    throw new InspectorError(415, 'Send a form: content-type application/x-www-form-urlencoded.')
}

/**
 * Reads a form to its end.
 *
 * @throws {InspectorError} 413 if it is too large, 400 if the client disconnects before its end
 */
async function readChunks(chunks: AsyncIterable<Uint8Array>): Promise<Values> {
  const all: Uint8Array[] = []
  let length = 0
  try {
    for await (const chunk of chunks) {
      length += chunk.length
      if (length > MAX_FORM) throw new InspectorError(413, 'The form is larger than 4 MiB.')
      all.push(chunk)
    }
  } catch (error) {
    throw error instanceof InspectorError ? error : new InspectorError(400, 'The form is incomplete.')
  }
  return parseForm(Buffer.concat(all))
}

/** Parses a submitted form. The last value of a repeated field counts. Browsers submit line breaks as CRLF. */
const parseForm = (body: Uint8Array): Values => toValues(new URLSearchParams(Buffer.from(body).toString()))

/** Values other than text, which body parsers can return, are ignored. */
function toValues(fields: Iterable<readonly [string, unknown]>): Values {
  const values: Record<string, string> = Object.create(null)
  let count = 0
  for (const [name, value] of fields) {
    if (++count > MAX_FIELDS) throw new InspectorError(413, `The form has more than ${MAX_FIELDS} fields.`)
    if (typeof value === 'string') values[name] = value.replaceAll('\r\n', '\n')
  }
  return values
}

/**
 * Splits a URL, which may include scheme and host (RFC 9112, section 3.2.2), and removes the base.
 *
 * @returns undefined if the path is outside of the base
 */
function toPath(url: string, base: string): Pick<InspectorRequest, 'path' | 'query'> | undefined {
  const [, whole = '', query] = /^(?:https?:\/\/[^/?]*)?([^?#]*)(?:\?([^#]*))?/i.exec(url) ?? []
  if (whole !== base && !whole.startsWith(`${base}/`)) return undefined
  return { path: whole.slice(base.length) || '/', query: new URLSearchParams(query) }
}

/** What Express and Connect add to Node's request. */
interface Mounted {
  /** Express: the mount path. */
  baseUrl?: unknown
  /** The URL before the mount path was removed from `url`. */
  originalUrl?: unknown
  body?: unknown
}

/**
 * Reads a request of Node's server.
 *
 * @returns undefined if the request is outside of the base
 */
export function fromNode(
  req: IncomingMessage & Mounted,
  given: string | undefined,
): InspectorRequest | undefined {
  const mounted = mountPathOf(req)
  const base = given ?? mounted
  const place = toPath(req.url ?? '/', mounted === '' ? base : '')
  if (!place) return undefined
  const socket = req.socket as IncomingMessage['socket'] & { encrypted?: boolean }
  return {
    method: req.method === 'HEAD' ? 'GET' : (req.method ?? 'GET'),
    ...place,
    base,
    headers: headersOf(req),
    isSecure: socket.encrypted === true,
    httpVersion: req.httpVersion,
    remoteAddress: socket.remoteAddress,
    readForm: () => readNodeForm(req),
    original: req,
  }
}

/** Returns the path that Express or Connect has removed from `url`. */
function mountPathOf({ baseUrl, originalUrl, url }: IncomingMessage & Mounted): string {
  if (typeof baseUrl === 'string') return isBase(baseUrl) ? baseUrl : ''
  if (typeof originalUrl !== 'string') return ''
  const whole = toPath(originalUrl, '')?.path ?? ''
  const rest = toPath(url ?? '/', '')?.path ?? ''
  // Connect replaces an empty path with a slash.
  const path = whole.endsWith(rest) ? whole.slice(0, -rest.length) : rest === '/' ? whole : ''
  return isBase(path) ? path : ''
}

async function readNodeForm(req: IncomingMessage & Mounted): Promise<Values> {
  requireFormType(req.headers['content-type'])
  const { body } = req
  if (body instanceof Uint8Array) return parseForm(body)
  if (req.readableDidRead && typeof body === 'object' && body !== null) return toValues(Object.entries(body))
  return readChunks(req)
}

/** Writes the response. Resolves when it is written, or when the client has disconnected. */
export async function toNode(
  res: ServerResponse,
  { status, headers, body }: InspectorResponse,
  isHead: boolean,
): Promise<void> {
  if (res.headersSent) return // other code, for example a timeout, has responded
  res.writeHead(status, headers)
  if (isHead) {
    if (body instanceof ReadableStream) await body.cancel()
    res.end()
  } else if (body instanceof ReadableStream) {
    res.flushHeaders()
    await pipeline(Readable.fromWeb(body as never), res).catch(() => {}) // the client has disconnected
  } else res.end(body)
}

/** Reads a web `Request`. @returns undefined if the request is outside of the base */
export function fromWeb(request: Request, server: unknown, base = ''): InspectorRequest | undefined {
  const place = toPath(request.url, base)
  if (!place) return undefined
  const headers: HeaderBag = { host: new URL(request.url).host, ...Object.fromEntries(request.headers) }
  return {
    method: request.method === 'HEAD' ? 'GET' : request.method,
    ...place,
    base,
    headers,
    isSecure: request.url.startsWith('https:'),
    httpVersion: undefined,
    remoteAddress: remoteAddressOf(request, server),
    readForm: () => readWebForm(request),
    original: request,
  }
}

async function readWebForm(request: Request): Promise<Values> {
  requireFormType(request.headers.get('content-type') ?? undefined)
  return request.body ? readChunks(request.body as unknown as AsyncIterable<Uint8Array>) : {}
}

export function toWeb({ status, headers, body }: InspectorResponse, isHead: boolean): Response {
  if (isHead && body instanceof ReadableStream) void body.cancel()
  return new Response(isHead ? null : body, { status, headers })
}

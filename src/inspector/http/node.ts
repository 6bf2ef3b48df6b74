import type { IncomingMessage, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { headersOf } from '../../adapters/serve-node.ts'
import type { Values } from '../action.ts'
import { isBase } from '../options.ts'
import { fromParsed, parseForm, readChunks, requireFormType } from './form-values.ts'
import type { InspectorRequest, InspectorResponse } from './message.ts'
import { toPath } from './path.ts'

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
    readForm: () => readForm(req),
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

async function readForm(req: IncomingMessage & Mounted): Promise<Values> {
  requireFormType(req.headers['content-type'])
  const { body } = req
  if (body instanceof Uint8Array) return parseForm(body)
  if (req.readableDidRead && typeof body === 'object' && body !== null) return fromParsed(body)
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

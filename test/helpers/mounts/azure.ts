import { createServer, type IncomingMessage } from 'node:http'
import { createRequire } from 'node:module'
import type { HttpResponseInit } from '@azure/functions'
import { webhook } from 'geohook/azure'
import { type HostRequest, type HostResponse, listenHost } from './host.ts'
import { type Mount, mountServer } from './mounted.ts'

type Azure = typeof import('@azure/functions')
type HttpRequest = InstanceType<Azure['HttpRequest']>
// Uses `require`, because Node detects only the export `app` when it imports this CommonJS bundle.
const { HttpRequest, HttpResponse }: Azure = createRequire(import.meta.url)('@azure/functions')

/** Converts headers like the host does: lower-cases names, and joins repeated values with commas. */
function headersOf(pairs: readonly (readonly [string, string])[]): Record<string, string> {
  const all = new Map<string, string>()
  for (const [name, value] of pairs) {
    const key = name.toLowerCase()
    all.set(key, all.has(key) ? `${all.get(key)},${value}` : value)
  }
  return Object.fromEntries(all)
}

/** Creates the request that the worker passes to functions. The body is bytes for every media type. */
export const toHttpRequest = ({ method, target, headers, body }: HostRequest): HttpRequest =>
  new HttpRequest({
    method,
    url: `https://app.azurewebsites.net${target}`,
    headers: headersOf(headers),
    params: {},
    ...(body.length > 0 ? { body: { bytes: body } } : {}),
  })

/** Converts a function's result to a response like the worker does. */
export async function toHostResponse(result: HttpResponseInit): Promise<HostResponse> {
  const response = new HttpResponse(result)
  const body = new Uint8Array(await response.arrayBuffer())
  return { status: response.status, headers: [...response.headers], body }
}

export const mountAzure: Mount = (receiver, { bodyIsRead } = {}) => {
  const handler = webhook(receiver)
  return listenHost(async (hostRequest) => {
    const request = toHttpRequest(hostRequest)
    if (bodyIsRead) await request.json()
    return toHostResponse(await handler(request))
  })
}

/** Like `toHttpRequest`, but the body is a stream, as after `app.setup({ enableHttpStream: true })`. */
function toStreamRequest(req: IncomingMessage): HttpRequest {
  const hasBody = req.method !== 'GET' && req.method !== 'HEAD'
  const nativeRequest = new Request(`https://app.azurewebsites.net${req.url}`, {
    method: req.method ?? '',
    headers: headersOf(
      Object.entries(req.headersDistinct).flatMap(([name, values = []]) =>
        values.map((value) => [name, value] as const),
      ),
    ),
    ...(hasBody ? { body: req as unknown as ReadableStream, duplex: 'half' } : {}),
  } as RequestInit)
  return new HttpRequest({ nativeRequest, params: {} } as ConstructorParameters<typeof HttpRequest>[0])
}

export const mountAzureStreaming: Mount = (receiver, { bodyIsRead } = {}) => {
  const handler = webhook(receiver)
  const server = createServer(async (req, res) => {
    const request = toStreamRequest(req)
    if (bodyIsRead) await request.json()
    const { status, headers, body } = await toHostResponse(await handler(request))
    res.writeHead(status, headers.flat())
    res.end(body)
  })
  return mountServer(server)
}

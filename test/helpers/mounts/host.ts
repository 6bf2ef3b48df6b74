import { createServer, type IncomingMessage } from 'node:http'
import { type Host, type Mounted, mountServer } from './mounted.ts'

/** A request that a serverless host has read completely. */
export interface HostRequest {
  method: string
  /** Path and query as received. */
  target: string
  path: string
  query: string
  /** Names and values as received, in order, without hop-by-hop headers. */
  headers: [string, string][]
  body: Buffer
}

/** The response that a serverless host sends. */
export interface HostResponse {
  status: number
  headers: [string, string][]
  body: Uint8Array | string
}

const HOP_BY_HOP = /^(connection|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade)$/i

/** Maximum size of a body in bytes, as the gateways in front of functions have one. That of API Gateway is 10 MB. */
const HOST_LIMIT = 10_000_000
/** A whole request must arrive within eight seconds: on a busy machine, 10 MB take more than five. */
const HOST_TIMES = { requestTimeout: 8_000, headersTimeout: 8_000, connectionsCheckingInterval: 250 }

/** Reads the body of a request. Returns undefined if it is larger than the host allows. */
async function readBody(req: IncomingMessage): Promise<Buffer | undefined> {
  if (Number(req.headers['content-length'] ?? 0) > HOST_LIMIT) return undefined
  const parts: Buffer[] = []
  let length = 0
  for await (const part of req.iterator({ destroyOnReturn: false })) {
    length += part.length
    if (length > HOST_LIMIT) return undefined
    parts.push(part as Buffer)
  }
  return Buffer.concat(parts)
}

/** Starts a host that reads the whole request, calls a function, and sends the function's response. */
export async function listenHost(
  invoke: (request: HostRequest, message: IncomingMessage) => Promise<HostResponse>,
  host: Host = {},
): Promise<Mounted> {
  const server = createServer(HOST_TIMES, async (req, res) => {
    let body: Buffer | undefined
    try {
      body = await readBody(req)
    } catch {
      return // the client disconnected; hosts do not call the function in this case
    }
    if (body === undefined) return void res.writeHead(413, { connection: 'close' }).end()
    const target = req.url ?? '/'
    const [path = '', ...rest] = target.split('?')
    const { rawHeaders } = req
    const headers = rawHeaders
      .flatMap((name, i): [string, string][] => (i % 2 === 0 ? [[name, rawHeaders[i + 1] ?? '']] : []))
      .filter(([name]) => !HOP_BY_HOP.test(name))
    const request = {
      method: req.method ?? '',
      target,
      path,
      query: rest.join('?'),
      headers,
      body,
    }
    const response = await invoke(request, req).catch(
      // The response that hosts send if the function throws.
      (): HostResponse => ({ status: 502, headers: [], body: '{"message":"Internal server error"}' }),
    )
    res.writeHead(response.status, response.headers.flat())
    res.end(response.body)
  })
  return { ...(await mountServer(server)), host: { readsBody: true, ...host } }
}

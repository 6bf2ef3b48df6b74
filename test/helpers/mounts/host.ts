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

/** Starts a host that reads the whole request, calls a function, and sends the function's response. */
export async function listenHost(
  invoke: (request: HostRequest, message: IncomingMessage) => Promise<HostResponse>,
  host: Host = {},
): Promise<Mounted> {
  const server = createServer(async (req, res) => {
    const parts: Buffer[] = []
    try {
      for await (const part of req) parts.push(part as Buffer)
    } catch {
      return // the client disconnected; hosts do not call the function in this case
    }
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
      body: Buffer.concat(parts),
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

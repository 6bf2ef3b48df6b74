import { createServer, type IncomingMessage } from 'node:http'
import { type Host, type Mounted, mountServer } from './mounted.ts'

/** A request as a serverless host has it: read whole, and nothing of the connection left. */
export interface HostRequest {
  method: string
  /** Path and query as received. */
  target: string
  path: string
  query: string
  /** Name and value as received, in order; without what concerns the connection. */
  headers: [string, string][]
  body: Buffer
}

/** What a serverless host writes. */
export interface HostResponse {
  status: number
  headers: [string, string][]
  body: Uint8Array | string
}

const HOP_BY_HOP = /^(connection|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade)$/i

/** A host that reads a request whole, calls a function, and writes what it gave. */
export async function listenHost(
  invoke: (request: HostRequest, message: IncomingMessage) => Promise<HostResponse>,
  host: Host = {},
): Promise<Mounted> {
  const server = createServer(async (req, res) => {
    const parts: Buffer[] = []
    try {
      for await (const part of req) parts.push(part as Buffer)
    } catch {
      return // the sender has gone: the function is never called
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
    const answer = await invoke(request, req).catch(
      // What a host says when its function has thrown.
      (): HostResponse => ({ status: 502, headers: [], body: '{"message":"Internal server error"}' }),
    )
    res.writeHead(answer.status, answer.headers.flat())
    res.end(answer.body)
  })
  return { ...(await mountServer(server)), host: { readsBody: true, ...host } }
}

import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import { type AddressInfo, connect, createServer as createListener } from 'node:net'

export interface TargetRequest {
  method: string
  url: string
  headers: IncomingHttpHeaders
  rawHeaders: string[]
  body: Buffer
}

/** A server that records the requests it receives. */
export interface Target {
  url: string
  requests: TargetRequest[]
  close(): Promise<void>
}

/** Starts a target. By default, it responds with 200; `answer` can send another response. */
export async function startTarget(
  answer: (res: ServerResponse, request: TargetRequest) => void = (res) => res.end(),
): Promise<Target> {
  const requests: TargetRequest[] = []
  const server = createServer(async (req, res) => {
    const parts: Buffer[] = []
    for await (const part of req) parts.push(part as Buffer)
    const { method = '', url = '', headers, rawHeaders } = req
    const request = { method, url, headers, rawHeaders, body: Buffer.concat(parts) }
    requests.push(request)
    answer(res, request)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    async close() {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}

/**
 * Returns a URL that refuses connections for as long as this process runs. An open client socket occupies its port, so
 * the system assigns it to no server of another test. The socket has a local address, so that the system does not take
 * the port for the client's end of a connection to this URL either: such a connection would reach itself.
 */
export async function unusedUrl(): Promise<string> {
  const server = createListener((socket) => socket.unref()).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const socket = connect({
    port: (server.address() as AddressInfo).port,
    host: '127.0.0.1',
    localAddress: '127.0.0.1',
  }).unref()
  await Promise.all([once(socket, 'connect'), once(server, 'connection')])
  server.close()
  return `http://127.0.0.1:${socket.localPort}`
}

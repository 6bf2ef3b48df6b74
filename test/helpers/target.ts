import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface TargetRequest {
  method: string
  url: string
  headers: IncomingHttpHeaders
  rawHeaders: string[]
  body: Buffer
}

/** A server that keeps what it gets. */
export interface Target {
  url: string
  requests: TargetRequest[]
  close(): Promise<void>
}

/** Answers 200 unless it is told otherwise. */
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

/** An address where nobody listens. */
export async function unusedUrl(): Promise<string> {
  const { url, close } = await startTarget()
  await close()
  return url
}

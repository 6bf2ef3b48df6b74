import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'

/** A server that runs until the test ends. */
export interface Served {
  /** Without a slash at its end. */
  url: string
  port: number
  close(): Promise<void>
}

export async function serve(listener: RequestListener, port = 0, host = '127.0.0.1'): Promise<Served> {
  const server = createServer(listener).listen(port, host)
  await once(server, 'listening')
  const close = async (): Promise<void> => {
    if (!server.listening) return
    server.close()
    server.closeAllConnections()
    await once(server, 'close')
  }
  onTestFinished(close)
  const address = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${address.port}`, port: address.port, close }
}

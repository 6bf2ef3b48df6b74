import { once } from 'node:events'
import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { inspector } from 'geohook/inspector'
import { onTestFinished } from 'vitest'
import type { InspectorOptions } from '../../../src/inspector/options.ts'

/** A server that runs until the test ends. */
export interface Served {
  /** Without a slash at its end. */
  url: string
  close(): Promise<void>
}

export async function serve(listener: RequestListener, port = 0): Promise<Served> {
  const server: Server = createServer(listener).listen(port, '127.0.0.1')
  await once(server, 'listening')
  const close = async (): Promise<void> => {
    if (!server.listening) return
    server.close()
    server.closeAllConnections()
    await once(server, 'close')
  }
  onTestFinished(close)
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, close }
}

/** Serves an inspector until the test ends. */
export const serveInspector = (
  inspected: Parameters<typeof inspector>[0],
  options?: InspectorOptions,
): Promise<Served> => serve(inspector(inspected, options))

import { once } from 'node:events'
import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { configInvalid } from '../errors.ts'
import { isLoopback } from './loopback.ts'

/** The socket of a mock service. */
export interface Listener {
  /** The base address while it listens; empty before and after. */
  readonly url: string
  listen(port?: number): Promise<string>
  close(): Promise<void>
}

export function createListener(app: RequestListener): Listener {
  let server: Server | undefined
  let url = ''
  return {
    get url() {
      return url
    },
    async listen(port = 0) {
      if (server) throw configInvalid('listen was called before')
      server = createServer(guard(app))
      try {
        await once(server.listen(port, '127.0.0.1'), 'listening')
      } catch (error) {
        server = undefined // another port may be tried
        throw error
      }
      url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
      return url
    },
    async close() {
      if (!server?.listening) return
      url = ''
      server.close()
      // A request is answered as soon as it is whole; one that is not could hold this back for minutes.
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}

/**
 * Answers to this machine's own names only. A web page elsewhere could give its own name the address 127.0.0.1 (DNS
 * rebinding), and would then be no stranger to the browser.
 */
const guard =
  (app: RequestListener): RequestListener =>
  (req, res) => {
    const { host } = req.headers
    if (host === undefined || isLoopback(host.replace(/:\d+$/, ''))) return app(req, res)
    res.writeHead(403, { 'content-type': 'application/json', connection: 'close' })
    res.end(JSON.stringify({ status: 'error', messages: ['the host is not this machine'], code: 403 }))
  }

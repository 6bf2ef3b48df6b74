import { once } from 'node:events'
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http'
import type { AddressInfo } from 'node:net'
import { configInvalid } from '../../errors.ts'
import { refuseOtherHosts } from './browser-guard.ts'

/** The HTTP server of a mock service. */
export interface Listener {
  /** Base URL while the server listens; otherwise empty. */
  readonly url: string
  listen(port?: number): Promise<string>
  /**
   * Refuses new connections immediately, and waits for the responses to requests that have arrived completely.
   *
   * @param finish completes the work that these responses wait for
   */
  close(finish: () => Promise<void>): Promise<void>
}

export function createListener(app: RequestListener): Listener {
  const guarded = refuseOtherHosts(app)
  const inFlight = new Set<ServerResponse>()
  let server: Server | undefined
  let starting: Promise<unknown> | undefined
  let url = ''

  function handle(req: IncomingMessage, res: ServerResponse): void {
    inFlight.add(res)
    res.once('close', () => inFlight.delete(res))
    guarded(req, res)
  }

  return {
    get url() {
      return url
    },
    async listen(port = 0) {
      if (server) throw configInvalid('listen was called before')
      server = createServer(handle)
      try {
        starting = once(server.listen(port, '127.0.0.1'), 'listening')
        await starting
      } catch (error) {
        server = undefined // the caller may try another port
        throw error
      }
      url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
      return url
    },
    async close(finish) {
      await starting?.catch(() => {})
      url = ''
      const closed = server?.listening ? once(server.close(), 'close') : undefined
      await finish()
      // Does not wait for incomplete requests and event streams, because they may never end.
      const answerable = [...inFlight].filter(
        (res) => res.req.complete && !(res.headersSent && !res.writableEnded),
      )
      await Promise.all(answerable.map((res) => new Promise((resolve) => res.once('close', resolve))))
      server?.closeAllConnections()
      await closed
    },
  }
}

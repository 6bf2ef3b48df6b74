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
import { isLoopback } from './hosts.ts'

/** The socket of a mock service. */
export interface Listener {
  /** The base address while it listens; empty before and after. */
  readonly url: string
  listen(port?: number): Promise<string>
  /**
   * Takes no more connections at once, and answers the requests that are whole.
   *
   * @param finish ends what they wait for
   */
  close(finish: () => Promise<void>): Promise<void>
}

export function createListener(app: RequestListener): Listener {
  let server: Server | undefined
  let starting: Promise<unknown> | undefined
  let url = ''
  const atWork = new Set<ServerResponse>()

  function serve(req: IncomingMessage, res: ServerResponse): void {
    atWork.add(res)
    res.once('close', () => atWork.delete(res))
    guard(app)(req, res)
  }

  return {
    get url() {
      return url
    },
    async listen(port = 0) {
      if (server) throw configInvalid('listen was called before')
      server = createServer(serve)
      try {
        starting = once(server.listen(port, '127.0.0.1'), 'listening')
        await starting
      } catch (error) {
        server = undefined // another port may be tried
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
      // What is not whole yet, and streams that have no end, could hold this back for ever.
      const answering = [...atWork].filter(
        (res) => res.req.complete && !(res.headersSent && !res.writableEnded),
      )
      await Promise.all(answering.map((res) => new Promise((resolve) => res.once('close', resolve))))
      server?.closeAllConnections()
      await closed
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
    if (host !== undefined && !URL.canParse(`http://${host}`))
      return refuse(res, 400, 'the host is not a valid host')
    if (host !== undefined && !isLoopback(host.replace(/:\d*$/, '')))
      return refuse(res, 403, 'the host is not this machine')
    app(req, res)
  }

function refuse(res: ServerResponse, code: 400 | 403, message: string): void {
  res.writeHead(code, { 'content-type': 'application/json', connection: 'close' })
  res.end(JSON.stringify({ status: 'error', messages: [message], code }))
}

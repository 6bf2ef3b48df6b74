import { once } from 'node:events'
import {
  createServer,
  type IncomingHttpHeaders,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http'
import type { AddressInfo } from 'node:net'
import { configInvalid } from '../../errors.ts'
import { isLoopback, withoutPort } from '../../shared/loopback.ts'
import { AdminError } from './errors.ts'

/**
 * Converts a host name or IP address to the form of `URL.hostname`: lower-case ASCII, IPv6 in brackets.
 *
 * @returns undefined if the host is invalid or has a port
 */
export function toHostname(host: string): string | undefined {
  const url = `http://${host.includes(':') && !host.startsWith('[') ? `[${host}]` : host}`
  if (!/^[^/?#@\\\s]+$/.test(host) || !URL.canParse(url)) return undefined
  const { hostname, port } = new URL(url)
  return port === '' ? hostname : undefined
}

/**
 * Refuses requests that a page of another origin sends from the user's browser. Links from such a page are allowed.
 */
export function refuseOtherOrigins(headers: IncomingHttpHeaders): void {
  const { origin, host } = headers
  const isOther = origin !== undefined && hostOf(origin) !== host?.toLowerCase()
  const isEmbedded = headers['sec-fetch-site'] === 'cross-site' && headers['sec-fetch-mode'] !== 'navigate'
  if (isOther || isEmbedded) throw new AdminError(403, 'pages of other sites may not use this service')
}

const hostOf = (origin: string): string | null => (URL.canParse(origin) ? new URL(origin).host : null)

/**
 * Refuses requests whose `host` header does not name this machine. Otherwise a web page whose host name resolves to
 * 127.0.0.1 could reach the service under that name (DNS rebinding).
 */
const refuseOtherHosts =
  (app: RequestListener): RequestListener =>
  (req, res) => {
    const { host } = req.headers
    if (host !== undefined && !URL.canParse(`http://${host}`))
      return refuse(res, 400, 'the host is not a valid host')
    if (host !== undefined && !isLoopback(withoutPort(host)))
      return refuse(res, 403, 'the host is not this machine')
    app(req, res)
  }

function refuse(res: ServerResponse, code: 400 | 403, message: string): void {
  res.writeHead(code, { 'content-type': 'application/json', connection: 'close' })
  res.end(JSON.stringify({ status: 'error', messages: [message], code }))
}

/** The HTTP server of a mock service. */
export class Listener {
  /** Base URL while the server listens; otherwise empty. */
  url = ''
  readonly #app: RequestListener
  readonly #inFlight = new Set<ServerResponse>()
  #server: Server | undefined
  #starting: Promise<unknown> | undefined

  constructor(app: RequestListener) {
    this.#app = refuseOtherHosts(app)
  }

  async listen(port = 0): Promise<string> {
    if (this.#server) throw configInvalid('listen was called before')
    const server = createServer((req, res) => {
      this.#inFlight.add(res)
      res.once('close', () => this.#inFlight.delete(res))
      this.#app(req, res)
    })
    this.#server = server
    try {
      this.#starting = once(server.listen(port, '127.0.0.1'), 'listening')
      await this.#starting
    } catch (error) {
      this.#server = undefined // the caller may try another port
      throw error
    }
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    return this.url
  }

  /**
   * Refuses new connections immediately, and waits for the responses to requests that have arrived completely.
   *
   * @param finish completes the work that these responses wait for
   */
  async close(finish: () => Promise<void>): Promise<void> {
    await this.#starting?.catch(() => {})
    this.url = ''
    const closed = this.#server?.listening ? once(this.#server.close(), 'close') : undefined
    await finish()
    // Does not wait for incomplete requests and event streams, because they may never end.
    const answerable = [...this.#inFlight].filter(
      (res) => res.req.complete && !(res.headersSent && !res.writableEnded),
    )
    await Promise.all(answerable.map((res) => new Promise((resolve) => res.once('close', resolve))))
    this.#server?.closeAllConnections()
    await closed
  }
}

import type { IncomingHttpHeaders, RequestListener, ServerResponse } from 'node:http'
import { AdminError } from './errors.ts'
import { isLoopback } from './hosts.ts'

/**
 * Refuses requests that a page of another origin sends from the user's browser. Links from such a page are allowed.
 *
 * @throws {AdminError} 403
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
export const refuseOtherHosts =
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

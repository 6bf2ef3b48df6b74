import type { IncomingHttpHeaders } from 'node:http'
import { AdminError } from './errors.ts'

/**
 * Browsers say which page sends a request. A page elsewhere must not drive a service on this machine; following a link
 * from there to a page of this service is no harm.
 *
 * @throws {AdminError} 403
 */
export function refuseOtherSites(headers: IncomingHttpHeaders): void {
  const { origin, host } = headers
  const isOther = origin !== undefined && hostOf(origin) !== host?.toLowerCase()
  const isEmbedded = headers['sec-fetch-site'] === 'cross-site' && headers['sec-fetch-mode'] !== 'navigate'
  if (isOther || isEmbedded) throw new AdminError(403, 'pages of other sites may not use this service')
}

const hostOf = (origin: string): string | null => (URL.canParse(origin) ? new URL(origin).host : null)

import { readHeader } from '../../receiver/request.ts'
import type { HeaderBag } from '../../receiver/types.ts'
import { InspectorError, type InspectorRequest } from '../http/message.ts'
import type { ResolvedOptions } from '../options.ts'

/**
 * Refuses requests of other machines, unless a token or the user's own login protects the inspector, and requests
 * that a page of another origin sends from the user's browser.
 *
 * @throws {InspectorError} 403
 */
export async function guard(request: InspectorRequest, { token, authorize }: ResolvedOptions): Promise<void> {
  if (!token && !authorize) requireLoopback(request)
  refuseOtherOrigins(request)
  if (authorize && (await isAuthorized(request.original, authorize)) !== true)
    throw new InspectorError(403, 'You are not allowed to use this inspector.')
}

async function isAuthorized(
  original: object,
  authorize: NonNullable<ResolvedOptions['authorize']>,
): Promise<boolean> {
  try {
    return await authorize(original)
  } catch {
    return false
  }
}

const LOOPBACK_HOST = /^(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d*)?$/i
const LOOPBACK_ADDRESS = /^(::1|(::ffff:)?127(\.\d{1,3}){3})$/i
/** Headers of proxies: the request may come from another machine, although the proxy runs on this one. */
const PROXY_HEADER =
  /forwarded|proxy|client-?ip|real-?ip|user-ip|^(via|cdn-loop|x-original-host|x-envoy-.*|cf-.*|tailscale-.*|x-nf-.*|x-vercel-.*)$/

/**
 * Checks the peer, and the `host` header: otherwise a web page whose host name resolves to 127.0.0.1 could read the
 * inspector (DNS rebinding).
 */
function requireLoopback({ headers, httpVersion, remoteAddress }: InspectorRequest): void {
  const isLocal =
    remoteAddress !== undefined &&
    LOOPBACK_ADDRESS.test(remoteAddress) &&
    LOOPBACK_HOST.test(hostOf(headers)) &&
    // No browser uses HTTP/1.0, but nginx does by default, without any header of a proxy (proxy_http_version).
    httpVersion !== '1.0' &&
    !Object.keys(headers).some((name) => PROXY_HEADER.test(name))
  if (!isLocal)
    throw new InspectorError(
      403,
      'Without a token or a login, the inspector answers only requests from this machine. Open it at 127.0.0.1, without a proxy, or protect it with a token.',
    )
}

/** HTTP/2 has a pseudo header in place of `host` (RFC 9113, section 8.3.1). */
const hostOf = (headers: HeaderBag): string =>
  (readHeader(headers, 'host') ?? readHeader(headers, ':authority') ?? '').toLowerCase()

/** Links from other sites may open a page, but nothing else. */
function refuseOtherOrigins({ method, headers }: InspectorRequest): void {
  const origin = readHeader(headers, 'origin')
  const site = readHeader(headers, 'sec-fetch-site') ?? 'none'
  const isLink = method === 'GET' && readHeader(headers, 'sec-fetch-mode') === 'navigate'
  const isOther = origin !== undefined && (!URL.canParse(origin) || new URL(origin).host !== hostOf(headers))
  if (isOther || (site !== 'same-origin' && site !== 'none' && !isLink))
    throw new InspectorError(403, 'Pages of other sites may not use the inspector.')
}

import { type ChangesError, showUrl } from './errors.ts'
import { isLoopback, isSecure, refuse } from './origins.ts'
import { discard } from './read-body.ts'

/** One HTTP request of a client. */
export interface OutgoingRequest {
  url: URL
  /** Fields of a POST. Without them, the request is a GET. */
  fields?: Readonly<Record<string, string>> | undefined
  /** True if redirects to another origin are followed, as for files. */
  allowsOtherOrigin: boolean
}

/** Sends one HTTP request, as the global `fetch` does. It must not follow redirects if `init.redirect` is `'manual'`. */
export type Fetch = (url: URL, init: RequestInit) => Promise<Response>

/** The response after all redirects. */
export interface FinalResponse {
  response: Response
  /** True if it is from another origin, to which a redirect led and which did not get the token. */
  isOtherOrigin: boolean
}

const MAX_REDIRECTS = 4

/**
 * Sends a request and follows its redirects. The token is never part of a URL, which logs and proxies store: a POST has
 * it in its form, a GET in the vendor's header. `fetch` would copy that header to other origins, so redirects are
 * followed here.
 *
 * @throws {WebhookError} `changes_url_refused`; a failed connection throws what `request` throws
 */
export async function send(
  { url, fields, allowsOtherOrigin }: OutgoingRequest,
  token: string | undefined,
  signal: AbortSignal,
  request: Fetch = (target, init) => fetch(target, init),
): Promise<FinalResponse> {
  let target = url
  let isOtherOrigin = false
  for (let redirects = 0; ; redirects++) {
    const response = await request(target, {
      redirect: 'manual',
      signal,
      ...(isOtherOrigin ? {} : toRequest(fields, token)),
    })
    const location = response.headers.get('location')
    if (response.status < 300 || response.status >= 400 || location === null)
      return { response, isOtherOrigin }
    await discard(response)
    if (redirects === MAX_REDIRECTS) throw tooMany(url)
    target = requireTarget(location, target, allowsOtherOrigin)
    // An origin that a redirect has left gets no token either if a later redirect returns to it.
    isOtherOrigin ||= target.origin !== url.origin
  }
}

function toRequest(fields: OutgoingRequest['fields'], token: string | undefined): RequestInit {
  if (!fields) return token === undefined ? {} : { headers: { 'X-Esri-Authorization': `Bearer ${token}` } }
  const body = new URLSearchParams({ ...fields, ...(token === undefined ? {} : { token }) })
  return { method: 'POST', body }
}

/** @throws {WebhookError} `changes_url_refused` */
function requireTarget(location: string, from: URL, allowsOtherOrigin: boolean): URL {
  const target = URL.canParse(location, from.href) ? new URL(location, from.href) : undefined
  if (target?.username || target?.password || !target || !/^https?:$/.test(target.protocol))
    throw refuse(`${showUrl(from)} redirects to an invalid URL`, 'No request was sent there.')
  if (target.origin === from.origin) return target
  if (!allowsOtherOrigin)
    throw refuse(
      `${showUrl(from)} redirects to ${showUrl(target)}`,
      'Only files may redirect to another origin. Check whether the service requires a login page.',
    )
  if (!isSecure(target) || (isLoopback(target) && !isLoopback(from)))
    throw refuse(
      `${showUrl(from)} redirects to ${showUrl(target)}`,
      'Files may redirect only to https, and to this machine only from this machine.',
    )
  return target
}

const tooMany = (url: URL): ChangesError =>
  refuse(
    `${showUrl(url)} redirects more than ${MAX_REDIRECTS} times`,
    'Open the URL in a browser to see where it leads.',
  )

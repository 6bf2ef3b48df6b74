import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { readHeader } from '../receiver/request.ts'
import type { HeaderBag } from '../receiver/types.ts'
import { isLoopback, withoutPort } from '../shared/loopback.ts'
import { InspectorError, type InspectorRequest } from './http.ts'
import type { ResolvedOptions } from './options.ts'

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
    isLoopback(remoteAddress) &&
    isLoopback(withoutPort(hostOf(headers))) &&
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

const COOKIE = 'geohook-inspector'

/** The login, and the secret in forms that other sites cannot know. */
export class Session {
  /** Hidden value of every form. */
  readonly formSecret: string
  readonly #token: Uint8Array | undefined
  readonly #session: string

  /** @param token undefined if the inspector needs no login */
  constructor(token: Uint8Array | undefined) {
    const key = token ?? randomBytes(32)
    // Derived from the token, so that several processes behind one address accept each other's cookies and forms.
    const derive = (purpose: string): string => createHmac('sha256', key).update(purpose).digest('hex')
    this.#token = token
    this.#session = derive('session of the geohook inspector')
    this.formSecret = derive('form of the geohook inspector')
  }

  isFormSecret(value = ''): boolean {
    return isEqual(value, this.formSecret)
  }

  /** True if `text` is the inspector's token. */
  isToken(text: string): boolean {
    return this.#token !== undefined && isEqual(text, Buffer.from(this.#token).toString())
  }

  /** True if the inspector has no token, or the request has the session cookie or the token as bearer token. */
  isLoggedIn({ headers }: InspectorRequest): boolean {
    if (!this.#token) return true
    const [, bearer] = /^Bearer (.+)$/i.exec(readHeader(headers, 'authorization') ?? '') ?? []
    if (bearer !== undefined) return this.isToken(bearer)
    return cookiesOf(readHeader(headers, 'cookie')).some((value) => isEqual(value, this.#session))
  }

  /** The `set-cookie` header that logs in, or out. */
  cookie({ base, isSecure }: InspectorRequest, isLogin: boolean): string {
    const attributes = ['HttpOnly', 'SameSite=Strict', `Path=${base || '/'}`, ...(isSecure ? ['Secure'] : [])]
    const value = isLogin ? [`${COOKIE}=${this.#session}`] : [`${COOKIE}=`, 'Max-Age=0']
    return [...value, ...attributes].join('; ')
  }
}

/** Values of the session cookie; a browser sends several if the inspector was mounted at several paths. */
const cookiesOf = (header = ''): string[] =>
  header
    .split(/[;,]/)
    .map((pair) => pair.trim().split('='))
    .filter(([name]) => name === COOKIE)
    .map(([, value = '']) => value)

/** Compares digests of equal length, so that the time does not depend on where the texts differ. */
function isEqual(a: string, b: string): boolean {
  const digest = (text: string): Buffer => createHmac('sha256', 'compare').update(text).digest()
  return timingSafeEqual(digest(a), digest(b))
}

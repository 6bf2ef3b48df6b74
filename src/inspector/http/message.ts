import type { HeaderBag } from '../../receiver/types.ts'
import type { Values } from '../action.ts'

/** A request to the inspector, from Node's server or a web `Request`. */
export interface InspectorRequest {
  /** Upper case; HEAD is passed as GET. */
  method: string
  /** Path below the base, not decoded, for example `/deliveries/7`. */
  path: string
  query: URLSearchParams
  headers: HeaderBag
  /** Path at which the inspector is mounted, without a slash at its end; often empty. */
  base: string
  /** True if the request arrived over TLS. */
  isSecure: boolean
  /** For example `1.1`. Undefined if the platform does not know it. */
  httpVersion: string | undefined
  /** Undefined if the platform does not know it. */
  remoteAddress: string | undefined
  /**
   * Reads the submitted form. Line breaks are LF.
   *
   * @throws {InspectorError} 413 if it is too large, 415 if it is not a form
   */
  readForm(): Promise<Values>
  /** The platform's own request, for `authorize`. */
  original: object
}

/** The response of the inspector. */
export interface InspectorResponse {
  status: number
  headers: Record<string, string>
  body: string | Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array>
}

/** An error that the page shows to the user. */
export class InspectorError extends Error {
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.name = 'InspectorError'
    this.status = status
  }
}

/** Headers of every response. They keep other sites from reading, framing and caching deliveries. */
const SECURITY_HEADERS: Readonly<Record<string, string>> = {
  'cache-control': 'no-store',
  'content-security-policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self'",
    "connect-src 'self'",
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join('; '),
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  // With `no-referrer`, browsers would submit forms with the origin `null`, which the guard refuses.
  'referrer-policy': 'same-origin',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
}

/** Creates a response with the security headers. */
export function respond(
  status: number,
  contentType: string,
  body: InspectorResponse['body'],
  headers: Readonly<Record<string, string>> = {},
): InspectorResponse {
  return { status, headers: { ...SECURITY_HEADERS, 'content-type': contentType, ...headers }, body }
}

export const respondHtml = (
  status: number,
  markup: string,
  headers?: Readonly<Record<string, string>>,
): InspectorResponse => respond(status, 'text/html; charset=utf-8', markup, headers)

/** Redirects to another page after a form was submitted. */
export const redirect = (
  location: string,
  headers: Readonly<Record<string, string>> = {},
): InspectorResponse => respond(303, 'text/plain; charset=utf-8', '', { ...headers, location })

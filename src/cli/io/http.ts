import {
  type HttpRequest,
  type HttpResponse,
  isSendError,
  sendRequest as send,
} from '../../shared/http.node.ts'
import type { Trust } from '../../shared/tls-trust.node.ts'
import { CliError, EXIT, failure, usageError } from '../errors.ts'

/**
 * Sends a request with the body and headers unchanged. Does not follow redirects.
 *
 * @throws {CliError} exit code 3 if the host is unreachable or does not respond, 2 if a header is not valid in HTTP, 1
 *   if the response is too large
 */
export async function sendRequest(
  url: URL,
  request: HttpRequest,
  limits?: Parameters<typeof send>[2],
): Promise<HttpResponse> {
  try {
    return await send(url, request, limits)
  } catch (error) {
    if (!isSendError(error)) throw error
    const { reason, message, hint } = error
    if (reason === 'invalid') throw usageError(message)
    if (reason === 'too_large') throw failure('answer_too_large', message)
    throw new CliError(EXIT.unreachable, 'unreachable', message, hint)
  }
}

/** Statuses with which a Response cannot have a body. */
const WITHOUT_BODY: ReadonlySet<number> = new Set([204, 205, 304])
/** The signal of the request ends it earlier. */
const TIMEOUT = 2 ** 31 - 1

/**
 * Creates a function for clients that take a `fetch` function. It trusts the CAs of the other commands and describes
 * failures as they do. It never follows redirects. `failure` returns why the last request got no response.
 *
 * @param limit maximum size of a response in bytes. Of a larger one, it returns one byte more
 */
export function createFetch(
  trust: Trust,
  limit: number,
): { fetch(url: URL, init: RequestInit): Promise<Response>; failure(): CliError | undefined } {
  let failure: CliError | undefined
  return {
    async fetch(url, { signal, method, headers: given, body: content }) {
      const request = new Request(url, { method, headers: given, body: content } as RequestInit)
      const headers: [string, string][] = [...request.headers, ['accept-encoding', 'identity']]
      const body = new Uint8Array(await request.arrayBuffer())
      const limits = { trust, limit: limit + 1, isCut: true, timeout: TIMEOUT, signal: signal ?? undefined }
      try {
        const response = await sendRequest(url, { method: request.method, headers, body }, limits)
        failure = undefined
        const { status } = response
        const bytes = WITHOUT_BODY.has(status) ? null : new Uint8Array(response.body)
        return new Response(bytes, { status, headers: response.headers.map(([...pair]) => pair) })
      } catch (error) {
        if (error instanceof CliError) failure = error
        throw error
      }
    },
    failure: () => failure,
  }
}

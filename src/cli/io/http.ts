import {
  type HttpRequest,
  type HttpResponse,
  type RequestLimits,
  SendError,
  sendRequest as send,
} from '../../inspector/send-request.ts'
import { CliError, EXIT, usageError } from '../errors.ts'

export {
  endToEnd,
  type HeaderPairs,
  type HttpRequest,
  type HttpResponse,
  toPairs,
} from '../../inspector/send-request.ts'

/**
 * Sends a request with the body and headers unchanged. Does not follow redirects.
 *
 * @throws {CliError} exit code 3 if the host is unreachable or does not respond, 2 if a header is not valid in HTTP, 1
 *   if the response is too large
 */
export async function sendRequest(
  url: URL,
  request: HttpRequest,
  limits?: RequestLimits,
): Promise<HttpResponse> {
  try {
    return await send(url, request, limits)
  } catch (error) {
    throw error instanceof SendError ? toCliError(error) : error
  }
}

function toCliError({ reason, message, hint }: SendError): CliError {
  if (reason === 'invalid') return usageError(message)
  if (reason === 'too_large') return new CliError(EXIT.failure, 'answer_too_large', message)
  return new CliError(EXIT.unreachable, 'unreachable', message, hint)
}

/** Returns false without a response, that is, for an undefined status. */
export const isSuccess = (status = 0): boolean => status >= 200 && status < 300

/** Returns true for a token (RFC 9110 section 5.6.2). */
export const isHeaderName = (text: string): boolean => /^[\w!#$%&'*+.^`|~-]+$/.test(text)

/** Returns true for a field value (RFC 9110 section 5.5). Node decodes it as Latin-1: one character per byte. */
export const isHeaderValue = (text: string): boolean => /^[\t\x20-\x7e\x80-\xff]*$/.test(text)

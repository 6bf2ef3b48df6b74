import {
  type HttpRequest,
  type HttpResponse,
  isSendError,
  sendRequest as send,
} from '../../shared/http.node.ts'
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

import type { Trust } from '../../adapters/tls-trust.ts'
import { configInvalid } from '../../errors.ts'
import type { Done } from '../action.ts'
import { type HttpRequest, SendError, sendRequest } from '../send-request.ts'

/** Milliseconds to wait for the complete response. */
const TIMEOUT = 10_000
/** Bytes of the response to read, and characters of it to show. */
const MAX_READ = 64 * 1024
const MAX_SHOWN = 300

/**
 * Sends a request for the user, and describes the response.
 *
 * @param redact removes secrets from the response, because a target may send back what it received
 * @throws {WebhookError} `config_invalid` without a response, so that the user can correct the address
 */
export async function post(
  url: URL,
  request: HttpRequest,
  redact: (text: string) => string,
  trust: Trust | undefined,
): Promise<Done> {
  const startedAt = performance.now()
  try {
    const { status, body } = await sendRequest(url, request, {
      timeout: TIMEOUT,
      limit: MAX_READ,
      isCut: true,
      trust,
    })
    // The response to a handshake contains a signature, with which someone else could pass a handshake.
    const text = request.method === 'GET' ? '' : redact(body.toString()).trim()
    const shown = text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text
    const duration = Math.round(performance.now() - startedAt)
    return {
      message: `${redact(url.href)} answered ${status} in ${duration} ms${shown && `: ${shown}`}`,
      ok: status >= 200 && status < 300,
    }
  } catch (error) {
    if (error instanceof SendError)
      throw configInvalid(redact([error.message, error.hint].filter(Boolean).join('. ')))
    throw error
  }
}

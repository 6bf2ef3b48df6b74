import { decoder } from '#decoder'
import { WebhookError } from '../errors.ts'

/** The error for a verified body that is not what its content type says. */
export const malformed = (message: string): WebhookError => new WebhookError('payload_malformed', { message })

/**
 * Strict UTF-8: a byte that is none is refused, never replaced. One byte order mark is dropped (RFC 8259 section 8.1).
 *
 * @throws {WebhookError} `payload_malformed`
 */
export function toText(bytes: Uint8Array): string {
  try {
    return decoder.decode(bytes)
  } catch {
    throw malformed('the body is not UTF-8')
  }
}

/** What a text says in JSON; undefined where it is none. */
export function tryJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    // The platform's message quotes the body, so it is not passed on.
    return undefined
  }
}

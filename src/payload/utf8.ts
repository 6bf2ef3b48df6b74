import { decodeUtf8 } from '#platform'
import { WebhookError } from '../errors.ts'

/** Creates the error for a body that is not a valid payload. */
export const malformed = (message: string): WebhookError => new WebhookError('payload_malformed', { message })

/**
 * Decodes UTF-8 strictly: invalid bytes are an error, never replaced. Removes one leading byte order mark (RFC 8259
 * section 8.1).
 *
 * @throws {WebhookError} `payload_malformed`
 */
export function toText(bytes: Uint8Array): string {
  try {
    return decodeUtf8(bytes)
  } catch {
    throw malformed('the body is not valid UTF-8')
  }
}

/** Parses JSON. Returns `undefined` if the text is not JSON. */
export function tryJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    // The engine's error is dropped, because its message quotes the body.
    return undefined
  }
}

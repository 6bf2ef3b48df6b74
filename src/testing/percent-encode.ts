import { WebhookError } from '../errors.ts'

/**
 * Percent-encodes a whole text with lower-case hex, as the senders that encode URLs and signatures write it (field
 * facts, "Payloads"); `encodeURIComponent` alone would write upper case.
 *
 * @throws {WebhookError} `config_invalid` for half a surrogate pair, which has no UTF-8 bytes
 */
export function percentEncode(text: string): string {
  try {
    return encodeURIComponent(text).replace(/%../g, (code) => code.toLowerCase())
  } catch (cause) {
    throw new WebhookError('config_invalid', {
      message: 'a text with half a character cannot be encoded',
      cause,
    })
  }
}

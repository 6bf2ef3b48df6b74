import { WebhookError } from '../errors.ts'

/**
 * Percent-encodes a text with lower-case hex digits, as some senders encode URLs and signatures (docs/senders.md,
 * "Signature" and "Payloads"). `encodeURIComponent` writes upper-case digits.
 *
 * @throws {WebhookError} `config_invalid` for a lone surrogate, which UTF-8 cannot represent
 */
export function percentEncode(text: string): string {
  try {
    return encodeURIComponent(text).replace(/%../g, (code) => code.toLowerCase())
  } catch (cause) {
    throw new WebhookError('config_invalid', {
      message: 'text with a lone surrogate cannot be percent-encoded',
      cause,
    })
  }
}

import { configInvalid } from '../errors.ts'

/** The default signature header, also the name of the form field (docs/specification.md, "Signature"). */
export const DEFAULT_SIGNATURE_HEADER = 'x-service'

/**
 * Returns the name of a header if it is a token (RFC 9110 section 5.6.2).
 *
 * @throws {WebhookError} `config_invalid`
 */
export function requireHeaderName(name: string, option = 'signatureHeader'): string {
  if (typeof name === 'string' && /^[\w!#$%&'*+.^`|~-]+$/.test(name)) return name
  throw configInvalid(`${option} is not a valid HTTP header name`)
}

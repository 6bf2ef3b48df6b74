/** Every code of a {@link WebhookError}. */
export type ErrorCode =
  | 'signature_missing'
  | 'signature_malformed'
  | 'signature_mismatch'
  | 'key_unknown'
  | 'key_unavailable'
  | 'delivery_stale'
  | 'delivery_in_progress'
  | 'handler_failed'
  | 'inbox_unavailable'
  | 'receiver_busy'
  | 'receiver_closed'
  | 'body_too_large'
  | 'body_timeout'
  | 'body_aborted'
  | 'body_already_parsed'
  | 'content_encoding_unsupported'
  | 'content_type_unsupported'
  | 'payload_malformed'
  | 'payload_invalid'
  | 'method_not_allowed'
  | 'handshake_invalid'
  | 'config_invalid'

const CHECK_SIGNATURE =
  'Call explain() with the body, the headers and the key, or replay the request with `geohook explain`: it finds the cause.'

/** HTTP status and hint of each code. Senders never see the hint. */
const CODES: Record<ErrorCode, readonly [status: number, hint?: string]> = {
  signature_missing: [
    401,
    'Set a signatureKey on the webhook, and check that signatureHeader names the header that the service sends.',
  ],
  signature_malformed: [401, CHECK_SIGNATURE],
  signature_mismatch: [401, CHECK_SIGNATURE],
  key_unknown: [401, 'Check that the signatureKey function returns a key for the URL of this request.'],
  key_unavailable: [503, 'The signatureKey function failed; the cause says why.'],
  delivery_stale: [400, 'Check the clocks of the sender and of the receiver, or increase maxAge.'],
  delivery_in_progress: [409],
  handler_failed: [500],
  inbox_unavailable: [503, 'Check that the store of the inbox is running and has free space.'],
  receiver_busy: [503, 'Increase maxInFlightBytes if the process has the memory.'],
  receiver_closed: [503],
  body_too_large: [413, 'Increase limit if senders may send bodies of this size.'],
  body_timeout: [408, 'Increase bodyTimeout if senders are on a slow network.'],
  body_aborted: [400],
  body_already_parsed: [500, 'Mount geohook before body parsers.'],
  content_encoding_unsupported: [415, 'Disable compression at the sender or its proxy.'],
  content_type_unsupported: [415, 'Send application/json or application/x-www-form-urlencoded, in UTF-8.'],
  payload_malformed: [400],
  payload_invalid: [400],
  method_not_allowed: [405],
  handshake_invalid: [400],
  config_invalid: [500],
}

/** Options of {@link WebhookError}. */
export interface WebhookErrorOptions {
  /** What happened; senders never see it. Default: the code in words. */
  message?: string | undefined
  /** What to do about it. Default: the hint of the code. */
  hint?: string | undefined
  /** The error behind this one. */
  cause?: unknown
}

/**
 * The error class of geohook. `code` says what happened, `status` is the HTTP status of the response, `hint` says what
 * to do about it. Errors of requests that have not proved anything have no stack trace.
 *
 * @example
 * ```ts
 * import { createReceiver, WebhookError } from 'geohook'
 *
 * try {
 *   createReceiver({ signatureKey: '' })
 * } catch (error) {
 *   if (error instanceof WebhookError) console.log(error.code) // config_invalid
 * }
 * ```
 */
export class WebhookError extends Error {
  declare readonly code: ErrorCode
  declare readonly status: number
  /** What to do about it; empty if the code says it all. */
  declare readonly hint: string

  constructor(code: ErrorCode, options: WebhookErrorOptions = {}) {
    const [status, hint = ''] = CODES[code]
    super(options.message ?? toTitle(code), options) // Error itself takes `cause`
    Object.assign(this, { name: 'WebhookError', code, status, hint: options.hint ?? hint })
  }
}

/** The error for an invalid option, thrown when an object is created and never during a request. */
export function configInvalid(message: string, hint?: string): WebhookError {
  return new WebhookError('config_invalid', { message, hint })
}

/** Converts a code to words: `body_too_large` to `Body too large`. */
export function toTitle(code: string): string {
  return code.slice(0, 1).toUpperCase() + code.slice(1).replaceAll('_', ' ')
}

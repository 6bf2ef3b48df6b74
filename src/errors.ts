/** Every code that a {@link WebhookError} can bear. */
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

/** What every code means: the HTTP status of its answer, and what to do about it, which only the receiver's side reads. */
const CODES: Record<ErrorCode, readonly [status: number, hint?: string]> = {
  signature_missing: [401, 'Check signatureKey and signatureHeader.'],
  signature_malformed: [401, 'explain() finds the cause.'],
  signature_mismatch: [401, 'explain() finds the cause.'],
  key_unknown: [401, 'Check signatureKey.'],
  key_unavailable: [503],
  delivery_stale: [400, 'Check both clocks.'],
  delivery_in_progress: [409],
  handler_failed: [500],
  inbox_unavailable: [503],
  receiver_busy: [503],
  receiver_closed: [503],
  body_too_large: [413],
  body_timeout: [408],
  body_aborted: [400],
  body_already_parsed: [500, 'Mount geohook before body parsers.'],
  content_encoding_unsupported: [415, 'Switch compression off.'],
  content_type_unsupported: [415, 'Send JSON or a form, in UTF-8.'],
  payload_malformed: [400],
  payload_invalid: [400],
  method_not_allowed: [405],
  handshake_invalid: [400],
  config_invalid: [500],
}

/** What {@link WebhookError} takes beside its code. */
export interface WebhookErrorOptions {
  /** What happened here; it is never sent to anyone. Default: the code in words. */
  message?: string | undefined
  /** What to do about it. Default: the hint of the code. */
  hint?: string | undefined
  /** The error behind this one. */
  cause?: unknown
}

/**
 * The one error class of geohook. `code` says what happened, `status` is the HTTP status of the answer, `hint`
 * says what to do about it. On Node, the errors of requests that prove nothing have no stack.
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
  /** What to do about it; empty where the code says it all. */
  declare readonly hint: string

  constructor(code: ErrorCode, options: WebhookErrorOptions = {}) {
    const [status, hint = ''] = CODES[code]
    super(options.message ?? toTitle(code), options) // of the options, Error takes the cause
    Object.assign(this, { name: 'WebhookError', code, status, hint: options.hint ?? hint })
  }
}

/** The error for an option that cannot be right: thrown at construction, never at a request. */
export function configInvalid(message: string, hint?: string): WebhookError {
  return new WebhookError('config_invalid', { message, hint })
}

/** `body_too_large` in words: Body too large. */
export function toTitle(code: string): string {
  return code.slice(0, 1).toUpperCase() + code.slice(1).replaceAll('_', ' ')
}

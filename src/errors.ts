import { ERROR_CODES, type ErrorCode } from './error-statuses.ts'

/** Options of {@link WebhookError}. */
export interface WebhookErrorOptions {
  /** What happened; senders never see it. Default: the code in words. */
  message?: string | undefined
  /** How to fix it. Default: the hint of the code. */
  hint?: string | undefined
  /** The error behind this one. */
  cause?: unknown
}

/**
 * The error class of geohook. `code` says what happened, `status` is the HTTP status of the response, `hint` says what
 * to do about it. Errors of unauthenticated requests have no stack trace.
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
  /** How to fix it; empty if the code is self-explanatory. */
  declare readonly hint: string

  constructor(code: ErrorCode, options: WebhookErrorOptions = {}) {
    const [status, hint = ''] = ERROR_CODES[code]
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

import { ERROR_CODES, type ErrorCode } from './error-statuses.ts'

/** The status and the hint of the other codes. */
const THROWN: readonly [status: number, hint: string] = [500, '']

/** Options of {@link WebhookError}. */
export interface WebhookErrorOptions {
  /** What went wrong. It never appears in a response. Default: the code in words. */
  message?: string | undefined
  /** How to fix the problem. Default: the hint of the code. */
  hint?: string | undefined
  /** The underlying error. */
  cause?: unknown
}

/**
 * The error class of geohook: `code` identifies the problem, `status` is the HTTP status of the response, and `hint`
 * says how to fix the problem. Most errors that anyone can cause without a key have no stack trace, because capturing
 * one is slow.
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
  /** How to fix the problem; empty if the code is self-explanatory. */
  declare readonly hint: string

  constructor(code: ErrorCode, options: WebhookErrorOptions = {}) {
    const [status, defaultHint = `Run "npx geohook explain --code ${code}".`] =
      (ERROR_CODES as Partial<Record<ErrorCode, readonly [number, string?]>>)[code] ?? THROWN
    const hint = options.hint ?? defaultHint
    super(options.message ?? toTitle(code), options) // `Error` reads only `cause` from `options`
    Object.assign(this, { name: 'WebhookError', code, status, hint })
    // Node and loggers print the enumerable members.
    if (hint === '') Object.defineProperty(this, 'hint', { enumerable: false })
  }
}

/** Creates the error for an invalid option or argument. */
export function configInvalid(message: string, hint?: string): WebhookError {
  return new WebhookError('config_invalid', { message, hint })
}

/**
 * Calls a function. If it throws, the stack begins at the caller of `entry`, so that Node prints the line of the user's
 * program in place of one of ours.
 */
export function blameCaller<Result>(entry: (...given: never[]) => unknown, call: () => Result): Result {
  try {
    return call()
  } catch (error) {
    if (error instanceof WebhookError) Error.captureStackTrace?.(error, entry)
    throw error
  }
}

/** Converts a code to words: `body_too_large` to `Body too large`. */
export function toTitle(code: string): string {
  return code.slice(0, 1).toUpperCase() + code.slice(1).replaceAll('_', ' ')
}

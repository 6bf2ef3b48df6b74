/** The status and the hint of the codes that end no request: {@link AdminCode}, {@link ChangesCode}, {@link InboxCode}. */
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

/** The codes of `geohook/changes`. No request can cause them: they are thrown to handlers. */
export type ChangesCode =
  | 'changes_url_refused'
  | 'changes_token_rejected'
  | 'changes_failed'
  | 'changes_timeout'
  | 'changes_malformed'
  | 'changes_too_large'
  | 'changes_unavailable'
  | 'resync_required'

/** The codes of inboxes, `packDelivery` and `unpackDelivery`. No request can cause them. */
export type InboxCode = 'delivery_dead' | 'delivery_too_large' | 'delivery_unreadable'

/** The codes of `geohook/admin`. No request can cause them. */
export type AdminCode =
  | 'admin_unauthorized'
  | 'admin_forbidden'
  | 'admin_not_found'
  | 'admin_refused'
  | 'admin_conflict'
  | 'admin_not_applied'
  | 'admin_unknown'
  | 'admin_unsupported'
  | 'admin_ambiguous'
  | 'admin_malformed'
  | 'admin_unavailable'

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
  | AdminCode
  | ChangesCode
  | InboxCode

/** The hint of codes whose cause a saved request shows. */
const SAVE_REQUEST =
  'To find the cause, set SIGNATURE_KEY and run "npx geohook listen --save captures" in place of this receiver, then "npx geohook explain captures".'

/** The status if a request is not authentic. All its codes have the same, so that a sender cannot tell them apart. */
export const UNAUTHORIZED = 401

/** The status that frameworks send if no handler of theirs takes a request. */
export const NOT_FOUND = 404

/**
 * The HTTP status and the hint for each error code that can end a request. Without a hint, that of the error names the
 * command that explains the code. Responses never contain the hint.
 */
export const ERROR_CODES: Record<
  Exclude<ErrorCode, AdminCode | ChangesCode | InboxCode>,
  readonly [status: number, hint?: string]
> = {
  signature_missing: [UNAUTHORIZED, SAVE_REQUEST],
  signature_malformed: [UNAUTHORIZED, SAVE_REQUEST],
  signature_mismatch: [UNAUTHORIZED, SAVE_REQUEST],
  key_unknown: [
    UNAUTHORIZED,
    'Check that the signatureKey function returns a key for this path. Under a mounted Express router, create the inner ' +
      'one with express.Router({ mergeParams: true }) to get the route parameters of both.',
  ],
  key_unavailable: [503],
  delivery_stale: [400, SAVE_REQUEST],
  delivery_in_progress: [409],
  handler_failed: [500, 'To log the stack trace, add the function failed to the observer.'],
  inbox_unavailable: [503],
  receiver_busy: [503],
  receiver_closed: [503],
  body_too_large: [413],
  body_timeout: [408],
  body_aborted: [400],
  body_already_parsed: [500, 'Mount geohook before body parsers.'],
  content_encoding_unsupported: [415, SAVE_REQUEST],
  content_type_unsupported: [415, SAVE_REQUEST],
  payload_malformed: [400, SAVE_REQUEST],
  payload_invalid: [400, SAVE_REQUEST],
  method_not_allowed: [405],
  handshake_invalid: [400],
  config_invalid: [500, ''],
}

/**
 * Runs user code (a key function, a store, a schema, a handler) and wraps any exception.
 *
 * @throws {WebhookError} `code`, with the thrown value as its cause, even if that value is a WebhookError
 */
export async function guard<Result>(
  code: ErrorCode,
  run: () => Result | Promise<Result>,
  message?: string,
): Promise<Result> {
  try {
    return await run()
  } catch (cause) {
    throw new WebhookError(code, { message, cause })
  }
}

/**
 * Creates the error for an unauthenticated request, without a stack trace: anyone can cause these errors, and
 * capturing a trace takes longer than the rest of the rejection.
 */
export function stacklessError(code: ErrorCode, options?: WebhookErrorOptions): WebhookError {
  const { stackTraceLimit } = Error
  setStackTraceLimit(0)
  try {
    return new WebhookError(code, options)
  } finally {
    setStackTraceLimit(stackTraceLimit)
  }
}

/**
 * Sets `Error.stackTraceLimit`. Uses `Reflect.set`, because an assignment would throw if the program has frozen
 * `Error`.
 */
export const setStackTraceLimit = (frames: number): boolean => Reflect.set(Error, 'stackTraceLimit', frames)

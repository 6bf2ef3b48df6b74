import type { ErrorCode } from '../error-statuses.ts'
import { WebhookError, type WebhookErrorOptions } from '../errors.ts'

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
const setStackTraceLimit = (frames: number): boolean => Reflect.set(Error, 'stackTraceLimit', frames)

import type { ErrorCode } from '../error-statuses.ts'
import { WebhookError, type WebhookErrorOptions } from '../errors.ts'

/**
 * Creates the error for an unauthenticated request. It has no stack trace: anyone can cause these errors,
 * the trace would point to no faulty line, and capturing it takes most of the time of a refusal.
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

/** `Reflect.set`, because an assignment would throw if the program has frozen `Error`. */
const setStackTraceLimit = (frames: number): boolean => Reflect.set(Error, 'stackTraceLimit', frames)

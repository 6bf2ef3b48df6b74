import { type ErrorCode, WebhookError, type WebhookErrorOptions } from '../errors.ts'

/**
 * The error of a request that was refused before anything is proved. Anyone can send such requests, so it has no stack:
 * that would lead to no line that is at fault, and to collect it takes V8 more than half as long as all else that is done
 * for them. Node makes its own errors the same way.
 */
export function refusal(code: ErrorCode, options?: WebhookErrorOptions): WebhookError {
  const { stackTraceLimit } = Error
  limitStacks(0)
  try {
    return new WebhookError(code, options)
  } finally {
    limitStacks(stackTraceLimit)
  }
}

/** Frames of the stacks to come. An assignment would throw where a program has frozen Error. */
const limitStacks = (frames: number): boolean => Reflect.set(Error, 'stackTraceLimit', frames)

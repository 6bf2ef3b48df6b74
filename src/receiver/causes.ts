import type { WebhookError } from '../errors.ts'

/** Returns the errors that caused an error: those of an `AggregateError`, otherwise only the cause itself. */
export function causesOf({ cause }: WebhookError): readonly unknown[] {
  try {
    if (cause instanceof AggregateError) return cause.errors
  } catch {} // a thrown proxy may throw
  return [cause]
}

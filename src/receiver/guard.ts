import type { ErrorCode } from '../error-statuses.ts'
import { WebhookError } from '../errors.ts'

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

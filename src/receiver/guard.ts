import { type ErrorCode, WebhookError } from '../errors.ts'

/**
 * Runs what belongs to others: a key function, a store, a schema, a handler. Whatever they throw, also what looks like
 * an error of ours, becomes this one.
 *
 * @throws {WebhookError} `code`, with what was thrown as its cause
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

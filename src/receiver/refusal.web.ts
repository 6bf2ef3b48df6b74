import { type ErrorCode, WebhookError, type WebhookErrorOptions } from '../errors.ts'

/** The error of a request that was refused before anything is proved. Not every engine can leave its stack out. */
export const refusal = (code: ErrorCode, options?: WebhookErrorOptions): WebhookError =>
  new WebhookError(code, options)

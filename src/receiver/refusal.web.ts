import { type ErrorCode, WebhookError } from '../errors.ts'

/** The error of a request that was refused before anything is proved. Not every engine can leave its stack out. */
export const refusal = (code: ErrorCode): WebhookError => new WebhookError(code)

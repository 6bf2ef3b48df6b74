import { configInvalid, WebhookError } from '../../errors.ts'

/** An error response; `status` is the HTTP status and the code in the body (docs/senders.md, "Administration"). */
export class AdminError extends Error {
  readonly status: number
  readonly messages: readonly string[]

  constructor(status: number, ...messages: string[]) {
    super(messages.join('; '))
    this.name = 'AdminError'
    this.status = status
    this.messages = messages
  }
}

/** Format of errors as JSON (docs/senders.md, "Administration"). */
export type ErrorFormat = 'messages' | 'error'

/** An error as JSON. `details` repeats the messages only if there are several, because clients join both. */
export function toErrorBody({ status: code, message, messages }: AdminError, format: ErrorFormat): object {
  if (format === 'messages') return { status: 'error', messages, code }
  return { error: { code, message, details: messages.length > 1 ? messages : [] } }
}

/** True for 498 and 499, which ask for a new token. */
export const needsToken = ({ status }: AdminError): boolean => status === 498 || status === 499

/** Maximum length of an error message in characters. It is limited because messages can quote a request. */
const MAX_MESSAGE = 300

/** Converts any error to an AdminError. Unexpected errors are bugs, so their messages are not disclosed. */
export function toAdminError(error: unknown): AdminError {
  if (error instanceof AdminError) return error
  if (error instanceof WebhookError && error.code === 'config_invalid')
    return new AdminError(400, error.message.slice(0, MAX_MESSAGE))
  return new AdminError(500, 'internal error')
}

/** Converts an AdminError to a WebhookError; returns other errors unchanged. */
export const toConfigInvalid = (error: unknown): unknown =>
  error instanceof AdminError ? configInvalid(error.message) : error

/** Quotes at most 64 characters of text from a request, for use in an error message. */
export const quote = (text: string): string =>
  JSON.stringify(text.length > 64 ? `${text.slice(0, 64)}…` : text)

export async function waitForSave(save: () => Promise<void>): Promise<void> {
  try {
    await save()
  } catch {
    throw new AdminError(500, 'the change is made, but the state could not be saved')
  }
}

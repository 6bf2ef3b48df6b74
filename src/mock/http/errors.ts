import { WebhookError } from '../../errors.ts'

/** An answer that is no success; `status` is the HTTP status and the code in the body (field facts, "Errors"). */
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

/** Some messages hold what somebody sent, for example a header. */
const MAX_MESSAGE = 300

/**
 * What reading the body throws bears a status, and what cannot be right is the caller's fault; anything else is a fault
 * of the mock, and its message stays inside.
 */
export function toAdminError(error: unknown): AdminError {
  if (error instanceof AdminError) return error
  if (error instanceof WebhookError && error.code === 'config_invalid')
    return new AdminError(400, error.message.slice(0, MAX_MESSAGE))
  const { status, message } = (error ?? {}) as { status?: unknown; message?: unknown }
  if (typeof status === 'number' && status >= 400 && status < 500)
    return new AdminError(status, String(message ?? 'bad request').slice(0, MAX_MESSAGE))
  return new AdminError(500, 'internal error')
}

/** What somebody sent, for a message: in quotes, and the first 64 characters of it. */
export const quote = (text: string): string =>
  JSON.stringify(text.length > 64 ? `${text.slice(0, 64)}…` : text)

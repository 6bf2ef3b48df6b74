import { toTitle, UNAUTHORIZED, WebhookError } from '../errors.ts'
import { requestedDelay } from './failures.ts'
import type { Outcome } from './types.ts'

/** Creates the outcome of a delivery that the sender need not send again. */
export const succeeded = (kind: 'handled' | 'unhandled' | 'stored' | 'duplicate'): Outcome =>
  toOutcome(kind, kind === 'stored' ? 202 : 200, `{"status":"${kind}"}`)

/** Creates the outcome of a delivery for which the framework's next handler has sent the response. */
export const respondedOutcome = (status: number): Outcome => ({
  kind: 'handled',
  status,
  headers: {},
  body: '',
})

/**
 * Creates the response to a handshake or to the registration of a webhook. If there is an `error`, the outcome's kind is
 * `refused`, but the response looks the same.
 */
export function handshakeOutcome(body: Record<string, string>, error?: WebhookError | undefined): Outcome {
  const outcome = toOutcome(error ? 'refused' : 'handshake', 200, JSON.stringify(body))
  if (error) outcome.error = error
  return outcome
}

/**
 * Creates the outcome of a request that failed. The response body contains a title, a status and a code (RFC 9457). All
 * responses to requests that are not authentic are identical, so that the sender cannot see which check failed.
 *
 * @param allow the value of the `allow` header of a 405 response
 * @param isDelivery whether the delivery was accepted before the error
 */
export function errorOutcome(error: WebhookError, allow: string, isDelivery: boolean, now: number): Outcome {
  const { code, status } = error
  const publicCode = status === UNAUTHORIZED ? 'unauthorized' : code
  const kind = !isDelivery ? 'refused' : code === 'delivery_in_progress' ? 'duplicate' : 'failed'
  const body = JSON.stringify({ title: toTitle(publicCode), status, code: publicCode })
  const outcome = toOutcome(kind, status, body)
  outcome.error = error
  outcome.headers['content-type'] = 'application/problem+json'
  if (status === 401) outcome.headers['www-authenticate'] = 'HMAC-SHA256' // required by RFC 9110 section 15.5.2
  if (status === 405) outcome.headers.allow = allow
  if (status === 409 || status === 503) outcome.headers['retry-after'] = '5' // seconds
  const delay = code === 'handler_failed' ? requestedDelay(error.cause, now) : undefined
  if (delay !== undefined) outcome.headers['retry-after'] = String(Math.ceil(delay / 1_000))
  return outcome
}

/** Copies an outcome for an observer, which must not be able to change the response. */
export const copyOutcome = (outcome: Outcome): Outcome =>
  Object.assign({}, outcome, { headers: { ...outcome.headers } })

/**
 * Converts a thrown value to a WebhookError. Recognizes our errors by name, because the ESM and the CommonJS build
 * have different classes, and a program may combine a receiver from one with an adapter from the other.
 */
export function toWebhookError(thrown: unknown): WebhookError {
  const isOurs = (thrown as { name?: unknown } | undefined | null)?.name === 'WebhookError'
  return isOurs ? (thrown as WebhookError) : new WebhookError('handler_failed', { cause: thrown })
}

function toOutcome(kind: Outcome['kind'], status: number, body: string): Outcome {
  return { kind, status, headers: { 'content-type': 'application/json' }, body }
}

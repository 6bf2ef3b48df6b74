import { toTitle, WebhookError } from '../errors.ts'

/** What happened to a request in the end, and the HTTP answer. */
export interface Outcome {
  kind: 'handled' | 'stored' | 'duplicate' | 'handshake' | 'refused' | 'failed'
  status: number
  headers: Record<string, string>
  /** Text in ASCII. */
  body: string
  /** The connection is to end after this answer: the sender is too slow, or the receiver is closed. */
  close?: boolean
  error?: WebhookError
}

/** The outcome of a delivery that is in good hands. */
export const done = (kind: 'handled' | 'stored' | 'duplicate'): Outcome =>
  toOutcome(kind, kind === 'stored' ? 202 : 200, `{"status":"${kind}"}`)

/** The answer to a handshake; with an error, it is refused without a sign to the sender. */
export function handshakeAnswer(body: Record<string, string>, error: WebhookError | undefined): Outcome {
  const outcome = toOutcome(error ? 'refused' : 'handshake', 200, JSON.stringify(body))
  if (error) outcome.error = error
  return outcome
}

/**
 * The outcome of an error. The sender reads a title, a status and a code (RFC 9457), and for all refusals with 401
 * the same ones: which check failed is for the receiver's side only.
 *
 * @param isDelivery whether it happened to a delivery, or to a request that became none
 */
export function failed(error: WebhookError, allow: string, isDelivery: boolean): Outcome {
  const { code, status } = error
  const shown = status === 401 ? 'unauthorized' : code
  const kind = !isDelivery ? 'refused' : code === 'delivery_in_progress' ? 'duplicate' : 'failed'
  const outcome = toOutcome(kind, status, JSON.stringify({ title: toTitle(shown), status, code: shown }))
  outcome.error = error
  outcome.headers['content-type'] = 'application/problem+json'
  if (status === 401) outcome.headers['www-authenticate'] = 'HMAC-SHA256' // RFC 9110 section 15.5.2 demands one
  if (status === 405) outcome.headers.allow = allow
  if (status === 409 || status === 503) outcome.headers['retry-after'] = '5' // seconds
  if (code === 'body_timeout' || code === 'body_too_large') outcome.close = true
  return outcome
}

/**
 * Whatever was thrown, as a WebhookError. It is known by its name: the class is another one where a receiver from ESM
 * meets an adapter from CommonJS.
 */
export function toWebhookError(thrown: unknown): WebhookError {
  const isOurs = (thrown as { name?: unknown } | undefined | null)?.name === 'WebhookError'
  return isOurs ? (thrown as WebhookError) : new WebhookError('handler_failed', { cause: thrown })
}

function toOutcome(kind: Outcome['kind'], status: number, body: string): Outcome {
  return { kind, status, headers: { 'content-type': 'application/json' }, body }
}

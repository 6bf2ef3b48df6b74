import { withCauses } from '#runtime'
import { type ChangesCode, WebhookError } from '../errors.ts'
import { reasonOf } from '../shared/client.ts'
import { isObject, type Json, requireSafe, tryJson } from '../shared/json.ts'

/** Details of a {@link ChangesError}, in addition to its code. */
export interface ChangesErrorDetails {
  message: string
  hint: string
  cause?: unknown
  /** State of the job, as the service spells it. */
  state?: string | undefined
  /** Code of the error that the service returned, or its HTTP status. */
  serviceCode?: number | undefined
}

/**
 * The error of a failed extraction: `code` identifies the problem, and `hint` says how to fix it. Neither the error nor
 * its cause contains a token of the client or the query of a URL.
 *
 * @example
 * ```ts
 * import { ChangesError, createChanges } from 'geohook/changes'
 *
 * const changes = createChanges({ origins: ['https://gis.example.com'] })
 * try {
 *   await changes.of([])
 * } catch (error) {
 *   if (error instanceof ChangesError) console.log(error.code, error.state, error.serviceCode, error.hint)
 * }
 * ```
 */
export class ChangesError extends WebhookError {
  declare readonly code: ChangesCode
  /** State of the job, as the service spells it. Set if the job failed or did not end in time. */
  declare readonly state?: string
  /** Code of the error that the service returned, or its HTTP status. */
  declare readonly serviceCode?: number

  constructor(code: ChangesCode, { state, serviceCode, ...options }: ChangesErrorDetails) {
    super(code, options)
    this.name = 'ChangesError'
    if (state !== undefined) this.state = state
    if (serviceCode !== undefined) this.serviceCode = serviceCode
  }
}

/** Creates the error for a service that must be copied again, because its changes alone are not enough. */
export const resyncRequired = (message: string, cause?: unknown): ChangesError =>
  new ChangesError('resync_required', {
    message,
    hint: 'Copy all features with changes.resync(service, copy), or pass the function to catchUp as resync. Later changes continue from there.',
    cause,
  })

/** What to do about an error: get another token, repeat the request, or report the error. */
export type Remedy = 'renew_token' | 'retry' | 'none'

export const MAX_TEXT = 1000

/** @param code of the service's error, or the HTTP status */
export function remedyOf(code: number): Remedy {
  if (code === 498 || code === 499) return 'renew_token'
  return code === 429 || (code >= 500 && code <= 599) ? 'retry' : 'none'
}

/**
 * @param message of the service
 * @param isOtherOrigin whether it is from another origin, which did not get the token
 */
export function toServiceError(
  code: number,
  message: string,
  shown: string,
  isOtherOrigin: boolean,
): ChangesError {
  const details = {
    message: `${shown} returned ${code ? `the error ${code}` : 'an error without a code'}: ${message}`,
    serviceCode: code || undefined,
  }
  if (!isOtherOrigin && [401, 403, 498, 499].includes(code))
    return new ChangesError('changes_token_rejected', {
      ...details,
      hint: 'Check that the token is valid for this server and that its user or app may read the service and its changes. A token that is bound to a referer needs the option referer.',
    })
  if (remedyOf(code) === 'retry')
    return new ChangesError('changes_unavailable', { ...details, hint: 'Try again later.' })
  return new ChangesError('changes_failed', {
    ...details,
    hint: 'Check the request, and that the service tracks changes (its capabilities contain ChangeTracking) and still has its layers.',
  })
}

/** @param error what `fetch` threw */
export const toNetworkError = (error: unknown, shown: string): ChangesError =>
  new ChangesError('changes_unavailable', {
    message: `${shown} cannot be reached, or the connection ended early: ${reasonOf(error)}`,
    hint: 'Check the network, and the certificate if the server has a private one. Then try again.',
  })

/**
 * Parses a response, by the same rules as payloads.
 *
 * @param shown the URL for errors
 * @throws {WebhookError} `changes_malformed`
 */
export function parseAnswer(text: string, shown: string): Json {
  const value = tryJson(text)
  if (!isObject(value)) {
    const kind = /^\s*</.test(text) ? 'an HTML page' : text === '' ? 'empty' : 'not a JSON object'
    throw malformed(`the response of ${shown} is ${kind}`)
  }
  try {
    requireSafe(value)
  } catch {
    throw malformed(`the response of ${shown} is nested too deeply, or contains a forbidden key`)
  }
  return value
}

/** The error for a source that gives no token. */
export function toTokenError(error: unknown): ChangesError {
  const reason = error instanceof Error ? String(error.message) : 'the token source failed'
  return new ChangesError('changes_token_rejected', {
    message: `no token: ${withCauses(error, reason)}`,
    hint: 'Check the function or the credentials that are passed as token.',
  })
}

export const malformed = (message: string): ChangesError =>
  new ChangesError('changes_malformed', {
    message,
    hint: 'Check that the URL is that of a feature service, and that no login page or proxy answers in its place.',
  })

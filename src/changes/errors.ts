import { type ChangesCode, WebhookError } from '../errors.ts'
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

/** The part of a URL that is safe to show: queries can contain tokens and signatures. */
export function showUrl(url: string | URL): string {
  if (!URL.canParse(String(url))) return 'not a URL'
  const { origin, protocol, pathname } = new URL(url)
  return `${origin === 'null' ? protocol : origin}${pathname}`
}

/** Creates the error for a service that must be copied again, because its changes alone are not enough. */
export const resyncRequired = (message: string, cause?: unknown): ChangesError =>
  new ChangesError('resync_required', {
    message,
    hint: 'Copy all features with changes.resync(service, copy), or pass the function to catchUp as resync. Later changes continue from there.',
    cause,
  })

/** Rejects with the signal's reason as soon as it is aborted. */
export function abortable<Value>(promise: Promise<Value>, signal: AbortSignal): Promise<Value> {
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(signal.reason)
    if (signal.aborted) abort()
    signal.addEventListener('abort', abort, { once: true })
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort))
  })
}

/** Waits. @throws the signal's reason when it is aborted */
export function wait(milliseconds: number, signal: AbortSignal): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const elapsed = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, milliseconds)
  })
  return abortable(elapsed, signal).finally(() => clearTimeout(timer))
}

/** Range of the time between two requests, in milliseconds. */
export interface Interval {
  min: number
  max: number
}

/** Longer timers fire at once. */
const LONGEST_TIMER = 2 ** 31 - 1

/** The time before a repetition: it grows from `min` to `max`, and varies so that clients do not retry at the same moment. */
export const backoff = ({ min, max }: Interval, repetition: number): number =>
  Math.min(LONGEST_TIMER, Math.min(max, min * 1.5 ** repetition) * (0.75 + Math.random() / 2))

/** What to do about an error: get another token, repeat the request, or report the error. */
export type Remedy = 'renew_token' | 'retry' | 'none'

/** An error that a service returned, in either of its formats. */
export interface ServiceError {
  code: number
  message: string
}

/**
 * Finds the error in a response. The HTTP status of errors is mostly 200.
 *
 * @param isJob whether the response may describe a job, which can have an error besides its state
 */
export function findError(answer: Json, isJob: boolean): ServiceError | undefined {
  const { error, status, messages, code } = answer
  if (isJob && typeof status === 'string' && status !== 'error') return undefined
  if (typeof error === 'string') return { code: 0, message: toText(error, answer.error_description) }
  if (isObject(error))
    return {
      code: toCode(error.code),
      message: toText(error.message ?? error.description, error.details),
    }
  if (status === 'error') return { code: toCode(code), message: toText(undefined, messages) }
  return undefined
}

const toCode = (code: unknown): number =>
  typeof code === 'number' || typeof code === 'string' ? Number(code) || 0 : 0

function toText(message: unknown, details: unknown): string {
  const texts = [message, ...(Array.isArray(details) ? details : [details])]
  const unique = new Set(texts.filter((text) => typeof text === 'string' && text !== ''))
  return [...unique].join(' ') || 'no message'
}

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

/** The code of the system's error, which says more than "fetch failed". */
function reasonOf(error: unknown): string {
  // A function that is passed as `fetch` can throw anything.
  const { cause, message } = Object(error) as { cause?: unknown; message?: unknown }
  const { code, message: reason } = Object(cause) as { code?: unknown; message?: unknown }
  const texts = [code, reason, message].filter((text) => typeof text === 'string')
  // Deno quotes the URL, and the query of a redirect is the signature of a file.
  return (texts[0] ?? 'unknown reason').replace(/\?\S*/g, '')
}

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

export const malformed = (message: string): ChangesError =>
  new ChangesError('changes_malformed', {
    message,
    hint: 'Check that the URL is that of a feature service, and that no login page or proxy answers in its place.',
  })

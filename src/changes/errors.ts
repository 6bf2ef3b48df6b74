import { type ChangesCode, WebhookError } from '../errors.ts'

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

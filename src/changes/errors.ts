import type { ChangesCode } from '../errors.ts'
import { WebhookError } from '../errors.ts'

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

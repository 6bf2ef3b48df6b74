import type { ChangesCode } from '../error-statuses.ts'
import { WebhookError } from '../errors.ts'

/** What a {@link ChangesError} says in addition to its code. */
export interface ChangesErrorDetails {
  message: string
  hint: string
  cause?: unknown
  /** State of the job, as the service spells it. */
  state?: string | undefined
  /** Code of the error that the service returned. */
  serviceCode?: number | undefined
}

/**
 * An error of an extraction: `code` identifies the problem and `hint` says how to fix it. Neither it nor its cause
 * contains a token or the query of a URL.
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
  return `${origin === 'null' ? protocol : origin}${pathname}`.slice(0, 300)
}

/** The error for a service whose changes alone are not enough. */
export const resyncRequired = (message: string, cause?: unknown): ChangesError =>
  new ChangesError('resync_required', {
    message,
    hint: 'Copy all features with changes.resync(service, copy), or pass the function to catchUp as resync. Later changes continue from there.',
    cause,
  })

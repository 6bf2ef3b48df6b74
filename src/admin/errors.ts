import { type AdminCode, WebhookError, type WebhookErrorOptions } from '../errors.ts'
import type { ChangeResult, Difference } from './types.ts'

/** Details of an {@link AdminError}, in addition to its code. */
export interface AdminErrorDetails extends WebhookErrorOptions {
  serviceCode?: number | undefined
  result?: ChangeResult
  different?: readonly Difference[]
}

/**
 * The error of the administration: `code` identifies the problem, and `hint` says how to fix it. It contains no token, no
 * key and no secret part of a payload URL.
 *
 * @example
 * ```ts
 * import { AdminError, createAdmin } from 'geohook/admin'
 *
 * const admin = createAdmin({ url: 'https://gis.example.com/server', token: 'a-token' })
 * try {
 *   await admin.service('Parcels.FeatureServer').edit('edits', { active: true })
 * } catch (error) {
 *   if (error instanceof AdminError) console.log(error.code, error.different, error.hint)
 * }
 * ```
 */
export class AdminError extends WebhookError {
  declare readonly code: AdminCode
  /** Code of the error that the service returned, or its HTTP status. */
  declare readonly serviceCode?: number
  /** What the change led to. Set for `admin_not_applied`, and for `admin_conflict` after a change. */
  declare readonly result?: ChangeResult
  /** The members that are not as requested. Set with `result`. */
  declare readonly different?: readonly Difference[]

  constructor(code: AdminCode, { serviceCode, result, different, ...options }: AdminErrorDetails) {
    super(code, { hint: '', ...options })
    this.name = 'AdminError'
    if (serviceCode !== undefined) this.serviceCode = serviceCode
    if (result) this.result = result
    if (different) this.different = different
  }
}

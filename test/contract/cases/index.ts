import type { ErrorCode } from 'geohook'
import type { AdminCode } from 'geohook/admin'
import type { ChangesCode } from 'geohook/changes'
import type { InboxCode } from 'geohook/inbox'
import { BYTES } from './bytes.ts'
import type { ContractCase } from './case.ts'
import { METHODS } from './methods.ts'
import { OUTCOMES } from './outcomes.ts'
import { SIGNATURES } from './signatures.ts'
import { UPLOADS } from './uploads.ts'

/** The contract: behaviour that must be the same in every framework and runtime. */
export const CASES: readonly ContractCase[] = [...OUTCOMES, ...SIGNATURES, ...BYTES, ...UPLOADS, ...METHODS]

/** Every error code of a request. A missing code is a compile error; a code without a case fails a test. */
export const CODES: Record<
  Exclude<ErrorCode, AdminCode | ChangesCode | InboxCode | 'config_invalid'>,
  true
> = {
  signature_missing: true,
  signature_malformed: true,
  signature_mismatch: true,
  key_unknown: true,
  key_unavailable: true,
  delivery_stale: true,
  delivery_in_progress: true,
  handler_failed: true,
  inbox_unavailable: true,
  receiver_busy: true,
  receiver_closed: true,
  body_too_large: true,
  body_timeout: true,
  body_aborted: true,
  body_already_parsed: true,
  content_encoding_unsupported: true,
  content_type_unsupported: true,
  payload_malformed: true,
  payload_invalid: true,
  method_not_allowed: true,
  handshake_invalid: true,
}

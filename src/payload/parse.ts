import { WebhookError } from '../errors.ts'
import { type OptionNames, requireKnownOptions } from '../known-options.ts'
import { type Body, toBytes } from '../signature/bytes.ts'
import { type Profile, type ProfileName, readProfile, type SecretProfile } from '../signature/profiles.ts'
import { DEFAULT_SIGNATURE_HEADER } from '../signature/signature-header.ts'
import { isJobChangeType } from './change-types.ts'
import { decodePayload } from './decode.ts'
import { toFields } from './dialects/fields.ts'
import { readHosted } from './dialects/hosted.ts'
import { readOrganization } from './dialects/organization.ts'
import { readService } from './dialects/service.ts'
import type { JobEvent, Parsed, WebhookEvent } from './event.ts'

/** Options of {@link parsePayload}. */
export interface ParseOptions {
  /** The verified body; a string is encoded as UTF-8. */
  body: Body
  /** The value of the `content-type` header. */
  contentType: string | undefined
  /**
   * The profile of the sender, or its name. Its `signatureHeader` is also the name of the form field with the
   * signature, by default `x-service`.
   */
  profile?: ProfileName | Partial<Profile> | SecretProfile | undefined
}

const NAMES: OptionNames<ParseOptions> = { body: true, contentType: true, profile: true }

/** The reason why a body cannot be decoded. */
export type PayloadCode = 'content_type_unsupported' | 'payload_malformed'

/** The payload with its events or, if the body cannot be decoded, an error code and message. */
export type ParseResult = ({ ok: true } & Parsed) | { ok: false; code: PayloadCode; message: string }

/**
 * Decodes a body (JSON or a form, in valid UTF-8) and reads its events in any dialect. Does not verify the signature.
 * Rejects bodies with more than 64 levels of nesting, more than 1000 form fields, or a key that could pollute a
 * prototype. Rejections are returned, not thrown, so no body from a sender can cause an exception.
 *
 * @throws {WebhookError} `body_already_parsed` for a body that is neither bytes nor a string; `config_invalid` for an
 *   unknown option or profile
 * @example
 * ```ts
 * import { parsePayload } from 'geohook'
 *
 * const body = '{"serviceName":"Parcels","events":[{"eventType":"FeaturesCreated","when":1730385704000}]}'
 * const parsed = parsePayload({ body, contentType: 'application/json' })
 * if (parsed.ok) console.log(parsed.changeTypes) // [ 'FeaturesCreated' ]
 * ```
 */
export function parsePayload(options: ParseOptions): ParseResult {
  requireKnownOptions(options, NAMES)
  const { body, contentType, profile } = options
  const { signatureHeader = DEFAULT_SIGNATURE_HEADER } = readProfile(profile)
  const bytes = toBytes(body)
  try {
    return { ok: true, ...parse(bytes, contentType, signatureHeader) }
  } catch (error) {
    if (!(error instanceof WebhookError)) throw error
    return { ok: false, code: error.code as PayloadCode, message: error.message }
  }
}

/**
 * Decodes a body like {@link parsePayload}, but throws the error instead of returning it.
 *
 * @throws {WebhookError} `content_type_unsupported`, `payload_malformed`
 */
export function parse(body: Uint8Array, contentType: string | undefined, signatureField: string): Parsed {
  const payload = decodePayload(body, contentType, signatureField)
  const events = readEvents(payload)
  const changeTypes = new Set<string>()
  for (const event of events) {
    const { changeType } = event
    if (changeType) changeTypes.add(changeType)
    if (isJobChangeType(changeType)) nameJob(event)
  }
  return { payload, changeTypes: [...changeTypes], events }
}

/** Sets the members that {@link JobEvent} has in addition. */
function nameJob(event: WebhookEvent): void {
  event.jobId ??= ''
  event.taskName ??= ''
}

function readEvents(payload: unknown): WebhookEvent[] {
  if (Array.isArray(payload)) return readHosted(payload)
  const fields = toFields(payload)
  return readOrganization(fields) ?? readService(fields)
}

import { WebhookError } from '../errors.ts'
import { type Body, toBytes } from '../signature/bytes.ts'
import { decodePayload } from './decode.ts'
import { toFields } from './dialects/fields.ts'
import { readHosted } from './dialects/hosted.ts'
import { readOrganization } from './dialects/organization.ts'
import { readService } from './dialects/service.ts'
import type { Parsed, WebhookEvent } from './event.ts'

/** What {@link parsePayload} takes. */
export interface ParseOptions {
  /** The body, already verified; a string means its UTF-8 bytes. */
  body: Body
  /** The value of the `content-type` header. */
  contentType: string | undefined
  /** The kind of sender: where it puts the signature in a form. Default: the form field is named `x-service`. */
  profile?: { signatureHeader?: string }
}

/** Why a body could not be decoded. */
export type PayloadCode = 'content_type_unsupported' | 'payload_malformed'

/** The payload with its events, or the code and a sentence that say why there is none. */
export type ParseResult = ({ ok: true } & Parsed) | { ok: false; code: PayloadCode; message: string }

/**
 * Decodes a body (JSON, or a form) and finds its events in every dialect. It does not verify anything, and nothing
 * that a sender can send makes it throw. Strict UTF-8; at most 64 levels and 1000 form fields; no prototype keys.
 *
 * @throws {WebhookError} `body_already_parsed` for a body that is not bytes or a string
 * @example
 * ```ts
 * import { parsePayload } from 'geohook'
 *
 * const body = '{"serviceName":"Parcels","events":[{"eventType":"FeaturesCreated","when":1730385704000}]}'
 * const parsed = parsePayload({ body, contentType: 'application/json' })
 * if (parsed.ok) console.log(parsed.changeTypes) // [ 'FeaturesCreated' ]
 * ```
 */
export function parsePayload({ body, contentType, profile }: ParseOptions): ParseResult {
  const bytes = toBytes(body)
  try {
    return { ok: true, ...parse(bytes, contentType, profile?.signatureHeader ?? 'x-service') }
  } catch (error) {
    if (!(error instanceof WebhookError)) throw error
    return { ok: false, code: error.code as PayloadCode, message: error.message }
  }
}

/**
 * The same for the receiver, where a refusal is an error.
 *
 * @throws {WebhookError} `content_type_unsupported`, `payload_malformed`
 */
export function parse(body: Uint8Array, contentType: string | undefined, signatureField: string): Parsed {
  const payload = decodePayload(body, contentType, signatureField)
  const events = readEvents(payload)
  const changeTypes = new Set<string>()
  for (const { changeType } of events) if (changeType) changeTypes.add(changeType)
  return { payload, changeTypes: [...changeTypes], events }
}

function readEvents(payload: unknown): WebhookEvent[] {
  if (Array.isArray(payload)) return readHosted(payload)
  const fields = toFields(payload)
  return readOrganization(fields) ?? readService(fields)
}

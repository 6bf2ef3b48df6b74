import { WebhookError } from '../errors.ts'
import { checkOptions, isText, type OptionNames } from '../options.ts'
import { type Body, toBytes } from '../shared/bytes.ts'
import { malformed, requireSafe, toText, tryJson } from '../shared/json.ts'
import {
  DEFAULT_SIGNATURE_HEADER,
  type Profile,
  type ProfileName,
  readProfile,
  type SecretProfile,
} from '../signature/profiles.ts'
import { splitSignedForm } from '../signature/signature.ts'
import type { JobEvent, Parsed, WebhookEvent } from './events.ts'
import { isJobChangeType, readHosted, readOrganization, readService, toFields } from './events.ts'

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

const NAMES: OptionNames<ParseOptions> = { body: true, contentType: isText, profile: true }

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
  const { body, contentType, profile } = checkOptions(options, NAMES)
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

/** A `payload` field whose JSON is not percent-encoded. */
const RAW_JSON_FIELD = /^payload=\s*[{[]/

/**
 * Decodes a verified body to the payload: JSON, the JSON in a form's `payload` field, or the fields of a form.
 *
 * @param signatureField name of the form field that may contain the signature. This field is removed from the payload
 * @throws {WebhookError} `content_type_unsupported`, `payload_malformed`
 */
export function decodePayload(
  body: Uint8Array,
  contentType: string | undefined,
  signatureField: string,
): unknown {
  const format = bodyFormat(contentType)
  if (!format) throw new WebhookError('content_type_unsupported')
  const payload = format === 'json' ? parseJson(toText(body)) : decodeForm(body, signatureField)
  requireSafe(payload)
  return payload
}

function decodeForm(body: Uint8Array, signatureField: string): unknown {
  const text = toText(body)
  const signed = splitSignedForm(body, signatureField)
  const unsigned = signed ? `payload=${toText(signed.signed)}` : text
  // JSON that is not percent-encoded may contain `&`, `=`, `+`, `%`, and even text that looks like the signature field.
  // So before parsing the body as a form, try the text after `payload=` as JSON: first all of it, then without the
  // signature field.
  for (const form of [text, unsigned]) {
    const payload = RAW_JSON_FIELD.test(form) ? tryJson(form.slice('payload='.length)) : undefined
    if (payload !== undefined) return payload
  }
  const fields = parseForm(unsigned)
  const payload = fields.get('payload')
  if (!payload) {
    return Object.fromEntries(
      [...fields].map(([name, values]) => [name, values.length > 1 ? values : values[0]]),
    )
  }
  if (payload.length > 1) throw malformed('the form has more than one field named payload')
  return parseJson(payload[0] as string)
}

function parseJson(text: string): unknown {
  const value = tryJson(text)
  if (value === undefined) throw malformed('the payload is not valid JSON')
  if (typeof value !== 'object' || value === null)
    throw malformed('the payload is valid JSON, but neither an object nor an array')
  return value
}

/**
 * Parses `application/x-www-form-urlencoded` (WHATWG URL, section 5.1), but rejects invalid percent-encoding. Returns a
 * Map, because field names chosen by a sender are unsafe as object keys.
 *
 * Also rejects a field whose name starts like JSON. The signature does not cover the content type, so an attacker could
 * otherwise replay a captured JSON body as a form, and text inside the JSON would be read as fields.
 *
 * @throws {WebhookError} `payload_malformed`
 */
export function parseForm(text: string): Map<string, string[]> {
  const pairs = text.split('&').filter(Boolean)
  if (pairs.length === 0) throw malformed('the form is empty')
  if (pairs.length > MAX_FIELDS) throw malformed(`the form has more than ${MAX_FIELDS} fields`)
  const fields = new Map<string, string[]>()
  for (const pair of pairs) {
    const [, rawName = '', rawValue = ''] = /^([^=]*)=?(.*)/s.exec(pair) ?? []
    const name = decodeField(rawName)
    if (/^\s*[{["]/.test(name))
      throw malformed(
        'content-type says form, but the body looks like JSON: send content-type: application/json',
      )
    const value = decodeField(rawValue)
    const values = fields.get(name)
    if (values) values.push(value)
    else fields.set(name, [value])
  }
  return fields
}

function decodeField(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    throw malformed('the form has an invalid percent-encoding in a field')
  }
}

/** Maximum number of fields in a form. */
export const MAX_FIELDS = 1000

/**
 * Returns the body format that a `content-type` header names (RFC 9110 section 8.3.1). Ignores all parameters except
 * `charset`. Charsets other than UTF-8 are rejected, because their bytes may also be valid UTF-8 with another meaning.
 *
 * @returns undefined if the charset is rejected, if the media type is neither JSON (including `+json`, RFC 6839) nor a
 *   form, or if the value joins several headers
 */
export function bodyFormat(contentType: string | undefined): 'json' | 'form' | undefined {
  if (contentType === 'application/json') return 'json' // fast path: most services send exactly this
  const text = (contentType ?? '').toLowerCase().replace(/"[^"]*"/g, (quoted) => quoted.replace(/[,;]/g, '_'))
  // A comma outside quotes means that two headers were joined. Receivers disagree about which of the two applies.
  if (/,|;\s*charset=(?!"?utf-?8([";\s]|$))/.test(text)) return undefined
  const essence = text.split(';')[0]?.trim() as string
  if (/^(application|text)\/([\w.-]+\+)?json$/.test(essence)) return 'json'
  return essence === 'application/x-www-form-urlencoded' ? 'form' : undefined
}

import { WebhookError } from '../errors.ts'
import { splitSignedForm } from '../signature/form-field.ts'
import { parseForm } from './form.ts'
import { requireSafe } from './limits.ts'
import { bodyFormat } from './media-type.ts'
import { malformed, toText, tryJson } from './utf8.ts'

/** A `payload` field whose JSON was sent without percent-encoding. */
const RAW_JSON_FIELD = /^payload=\s*[{[]/

/**
 * Turns verified bytes into the payload: JSON, plain form fields, or JSON in the form field `payload`.
 *
 * @param signatureField the form field that may carry the signature; it is no part of the payload
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
  const whole = toText(body)
  const signed = splitSignedForm(body, signatureField)
  const text = signed ? `payload=${toText(signed.signed)}` : whole
  // JSON that was not percent-encoded may hold `&`, `=`, `+` and `%` of its own, and even what looks like the
  // signature's field: it is taken as it stands.
  for (const form of [whole, text]) {
    const payload = RAW_JSON_FIELD.test(form) ? tryJson(form.slice('payload='.length)) : undefined
    if (payload !== undefined) return payload
  }
  const fields = parseForm(text)
  const payload = fields.get('payload')
  if (!payload) {
    return Object.fromEntries(
      [...fields].map(([name, values]) => [name, values.length > 1 ? values : values[0]]),
    )
  }
  if (payload.length > 1) throw malformed('the form has more than one payload')
  return parseJson(payload[0] as string)
}

function parseJson(text: string): unknown {
  const value = tryJson(text)
  if (typeof value !== 'object' || value === null) throw malformed('no object or array')
  return value
}

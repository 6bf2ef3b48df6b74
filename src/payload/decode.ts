import { WebhookError } from '../errors.ts'
import { splitSignedForm } from '../signature/form-field.ts'
import { parseForm } from './form.ts'
import { requireSafe } from './limits.ts'
import { bodyFormat } from './media-type.ts'
import { malformed, toText, tryJson } from './utf8.ts'

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

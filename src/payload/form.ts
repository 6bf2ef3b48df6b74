import { MAX_FIELDS } from './limits.ts'
import { malformed } from './utf8.ts'

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

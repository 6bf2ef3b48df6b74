import { malformed } from './utf8.ts'

/** Fields in one form, at most. */
const MAX_FIELDS = 1000

/**
 * Parses `application/x-www-form-urlencoded` (WHATWG URL, section 5.1), but strictly: percent-encoding that is not
 * one, or not of UTF-8, is refused. The keys are in a Map because they come from outside.
 *
 * A field whose name begins like JSON is refused too: without this rule, whoever captured a signed JSON body could
 * send it again as a form (the content type is not signed), and text inside it would become fields.
 *
 * @throws {WebhookError} `payload_malformed`
 */
export function parseForm(text: string): Map<string, string[]> {
  const pairs = text.split('&').filter(Boolean)
  if (pairs.length === 0) throw malformed('the form is empty')
  if (pairs.length > MAX_FIELDS) throw malformed(`the form has over ${MAX_FIELDS} fields`)
  const fields = new Map<string, string[]>()
  for (const pair of pairs) {
    const [, before = '', behind = ''] = /^([^=]*)=?(.*)/s.exec(pair) ?? []
    const name = decodeField(before)
    if (/^\s*[{["]/.test(name)) throw malformed('the form is like JSON')
    const value = decodeField(behind)
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
    throw malformed('bad percent-encoding')
  }
}

/** The format of a body. */
export type BodyFormat = 'json' | 'form'

/**
 * Returns the body format that a `content-type` header names (RFC 9110 section 8.3.1). Ignores all parameters except
 * `charset`. Charsets other than UTF-8 are rejected, because their bytes may also be valid UTF-8 with another meaning.
 *
 * @returns undefined if the charset is rejected, if the media type is neither JSON (including `+json`, RFC 6839) nor a
 *   form, or if the value joins several headers
 */
export function bodyFormat(contentType: string | undefined): BodyFormat | undefined {
  if (contentType === 'application/json') return 'json' // fast path: most services send exactly this
  const text = (contentType ?? '').toLowerCase().replace(/"[^"]*"/g, (quoted) => quoted.replace(/[,;]/g, '_'))
  // A comma outside quotes means that two headers were joined. Receivers disagree about which of the two applies.
  if (/,|;\s*charset=(?!"?utf-?8([";\s]|$))/.test(text)) return undefined
  const essence = text.split(';')[0]?.trim() as string
  if (/^(application|text)\/([\w.-]+\+)?json$/.test(essence)) return 'json'
  return essence === 'application/x-www-form-urlencoded' ? 'form' : undefined
}

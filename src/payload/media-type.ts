/** The format of a body. */
export type BodyFormat = 'json' | 'form'

/**
 * Returns the body format that a `content-type` header names (RFC 9110 section 8.3.1). Of its parameters, only the
 * charset counts: bytes in a charset other than UTF-8 may be valid UTF-8 with another meaning, so it is rejected.
 *
 * @returns undefined for a media type that is neither JSON (or `+json`, RFC 6839) nor a form, and for two joined
 *   headers
 */
export function bodyFormat(contentType: string | undefined): BodyFormat | undefined {
  if (contentType === 'application/json') return 'json' // fast path: most services send exactly this
  const text = (contentType ?? '').toLowerCase().replace(/"[^"]*"/g, (quoted) => quoted.replace(/[,;]/g, '_'))
  // A comma outside quotes separates two joined headers, and receivers disagree about which one applies.
  if (/,|;\s*charset=(?!"?utf-?8([";\s]|$))/.test(text)) return undefined
  const essence = text.split(';')[0]?.trim() as string
  if (/^(application|text)\/([\w.-]+\+)?json$/.test(essence)) return 'json'
  return essence === 'application/x-www-form-urlencoded' ? 'form' : undefined
}

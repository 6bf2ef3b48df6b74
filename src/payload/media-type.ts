/** The format of a body. */
export type BodyFormat = 'json' | 'form'

/**
 * Returns the format that a `content-type` header names (RFC 9110 section 8.3.1). Its parameters are ignored, except for a
 * charset other than UTF-8, whose bytes could be valid UTF-8 with another meaning.
 *
 * @returns undefined for media types other than JSON (also `+json`, RFC 6839) and forms, and for two joined headers
 */
export function bodyFormat(contentType: string | undefined): BodyFormat | undefined {
  if (contentType === 'application/json') return 'json' // most services, without the work below
  const text = (contentType ?? '').toLowerCase().replace(/"[^"]*"/g, (quoted) => quoted.replace(/[,;]/g, '_'))
  // A comma outside of quotes joins two headers, and receivers disagree about which of them applies.
  if (/,|;\s*charset=(?!"?utf-?8([";\s]|$))/.test(text)) return undefined
  const essence = text.split(';')[0]?.trim() as string
  if (/^(application|text)\/([\w.-]+\+)?json$/.test(essence)) return 'json'
  return essence === 'application/x-www-form-urlencoded' ? 'form' : undefined
}

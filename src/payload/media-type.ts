/** How a body is decoded. */
export type BodyFormat = 'json' | 'form'

/**
 * What a `content-type` header asks for (RFC 9110 section 8.3.1). Parameters do not matter, but for a charset that
 * is not UTF-8: its bytes could pass as UTF-8 and mean something else. A comma outside of quotes separates two headers that were
 * joined, and receivers differ in which of them they believe.
 *
 * @returns undefined for every media type that is neither JSON (also `+json`, RFC 6839) nor a form
 */
export function bodyFormat(contentType: string | undefined): BodyFormat | undefined {
  if (contentType === 'application/json') return 'json' // from nearly every service
  const text = (contentType ?? '').toLowerCase().replace(/"[^"]*"/g, (quoted) => quoted.replace(/[,;]/g, '_'))
  if (/,|;\s*charset=(?!"?utf-?8([";\s]|$))/.test(text)) return undefined
  const essence = text.split(';')[0]?.trim() as string
  if (/^(application|text)\/([\w.-]+\+)?json$/.test(essence)) return 'json'
  return essence === 'application/x-www-form-urlencoded' ? 'form' : undefined
}

/** How a body is decoded. */
export type BodyFormat = 'json' | 'form'

/**
 * What a `content-type` header asks for (RFC 9110 section 8.3.1). Parameters do not matter, but for a charset that
 * is not UTF-8: its bytes could pass as UTF-8 and mean something else.
 *
 * @returns undefined for every media type that is neither JSON (also `+json`, RFC 6839) nor a form
 */
export function bodyFormat(contentType: string | undefined): BodyFormat | undefined {
  if (contentType === 'application/json') return 'json' // from nearly every service
  const text = (contentType ?? '').toLowerCase()
  const [, charset = 'utf-8'] = /;\s*charset="?([^";\s]*)/.exec(text) ?? []
  if (!/^utf-?8$/.test(charset)) return undefined
  const essence = text.replace(/;.*/s, '').trim()
  if (essence === 'application/x-www-form-urlencoded') return 'form'
  return /^(application|text)\/([\w.-]+\+)?json$/.test(essence) ? 'json' : undefined
}

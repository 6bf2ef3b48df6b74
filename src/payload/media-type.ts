/** How a body is decoded. */
export type BodyFormat = 'json' | 'form'

const UTF8_LABELS = ['utf-8', 'utf8', 'us-ascii']

/**
 * What a `content-type` header asks for (RFC 9110 section 8.3.1). Parameters do not matter, but for a charset that
 * is not UTF-8: its bytes could pass as UTF-8 and mean something else.
 *
 * @returns undefined for every media type that is neither JSON (also `+json`, RFC 6839) nor a form
 */
export function bodyFormat(contentType: string | undefined): BodyFormat | undefined {
  const [type = '', ...parameters] = (contentType ?? '').toLowerCase().split(';')
  for (const parameter of parameters) {
    const [name, value = ''] = parameter.trim().split('=')
    if (name === 'charset' && !UTF8_LABELS.includes(value.replaceAll('"', ''))) return undefined
  }
  const essence = type.trim()
  if (essence === 'application/x-www-form-urlencoded') return 'form'
  return /^(application|text)\/([\w.-]+\+)?json$/.test(essence) ? 'json' : undefined
}

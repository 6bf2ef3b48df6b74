/**
 * Headers by lower-case name. The value is a list if the header occurs more than once and the platform does not join
 * its values.
 */
export type HeaderBag = Readonly<Record<string, string | readonly string[] | undefined>>

/**
 * Returns the value of a header. Joins repeated values with commas, as HTTP defines, so that a repeated signature never
 * verifies.
 */
export function readHeader(headers: HeaderBag, lowerCaseName: string): string | undefined {
  const value = headers[lowerCaseName]
  return typeof value === 'object' ? value.join(', ') : value
}

/** Organizations send their key as plain text in this header (docs/senders.md, "Three dialects"). */
const SECRET_HEADER = 'secret'

/**
 * Replaces the value of the header `secret`, so that no handler, observer or inbox gets a key. Does not compare it with
 * the keys: the time would reveal how much of it is right.
 *
 * @param signatureHeader is never replaced, because its value is a signature
 */
export function redactSecret(headers: HeaderBag, signatureHeader: string): HeaderBag {
  if (headers[SECRET_HEADER] === undefined || signatureHeader === SECRET_HEADER) return headers
  return { ...headers, [SECRET_HEADER]: '***' }
}

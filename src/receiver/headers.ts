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
 * Returns the names of the headers to redact, in lower case: `secret`, and the one that the profile names. A signature
 * header is not redacted, because its value is a signature.
 */
export function secretHeaders(signatureHeader: string, secretHeader: string | undefined): readonly string[] {
  const names = new Set([SECRET_HEADER, secretHeader ?? SECRET_HEADER])
  names.delete(signatureHeader)
  return [...names]
}

/**
 * Replaces the values of these headers, so that no handler, observer or inbox gets a key. Does not compare them with
 * the keys: the time would reveal how much of a value is right.
 */
export function redactSecrets(headers: HeaderBag, names: readonly string[]): HeaderBag {
  let redacted = headers
  for (const name of names) if (headers[name] !== undefined) redacted = { ...redacted, [name]: '***' }
  return redacted
}

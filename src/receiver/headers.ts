/** Header names in lower case; a list where a header came more than once and the platform keeps them apart. */
export type HeaderBag = Readonly<Record<string, string | readonly string[] | undefined>>

/** The value of a header. Several values are joined as HTTP does, so that a doubled signature is never half read. */
export function readHeader(headers: HeaderBag, lowerCaseName: string): string | undefined {
  const value = headers[lowerCaseName]
  return typeof value === 'object' ? value.join(', ') : value
}

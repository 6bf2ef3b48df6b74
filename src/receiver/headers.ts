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

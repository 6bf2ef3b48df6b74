export type HeaderPairs = readonly (readonly [name: string, value: string])[]

/**
 * Headers by lower-case name. The value is a list if the header occurs more than once and the platform does not join
 * its values.
 */
export type HeaderBag = Readonly<Record<string, string | readonly string[] | undefined>>

/** One pair for each value of a repeated header. */
export function toPairs(headers: HeaderBag | HeaderPairs): HeaderPairs {
  if (Array.isArray(headers)) return headers as HeaderPairs
  return Object.entries(headers as HeaderBag).flatMap(([name, value = []]) =>
    [value].flat().map((one): [string, string] => [name, one]),
  )
}

/** Converts Node's flat list of names and values (`rawHeaders`) to pairs. */
export const pairRaw = (raw: readonly string[]): [name: string, value: string][] =>
  raw.flatMap((name, index) => (index % 2 === 0 ? [[name, raw[index + 1] ?? ''] as [string, string]] : []))

/** Returns true for a token (RFC 9110 section 5.6.2). */
export const isHeaderName = (text: string): boolean => /^[\w!#$%&'*+.^`|~-]+$/.test(text)

/** Returns true for a field value (RFC 9110 section 5.5). Node decodes it as Latin-1: one character per byte. */
export const isHeaderValue = (text: string): boolean => /^[\t\x20-\x7e\x80-\xff]*$/.test(text)

/**
 * Headers that apply to one connection only (RFC 9110 section 7.6.1), headers that a client sets itself, and the
 * pseudo-headers of HTTP/2.
 */
const HOP_BY_HOP =
  /^(connection|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade|expect|host|content-length|:.*)$/i

/**
 * Returns the headers to forward to another host. Ignores the names in the `connection` header, because an attacker
 * could list the signature header there to remove it.
 */
export const endToEnd = (headers: HeaderPairs): HeaderPairs =>
  headers.filter(([name]) => !HOP_BY_HOP.test(name))

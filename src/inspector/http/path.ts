/** A path below the base of the inspector, and the query. */
export interface Place {
  path: string
  query: URLSearchParams
}

/**
 * Splits a URL, which may include scheme and host (RFC 9112, section 3.2.2), and removes the base.
 *
 * @returns undefined if the path is outside of the base
 */
export function toPath(url: string, base: string): Place | undefined {
  const [, whole = '', query] = /^(?:https?:\/\/[^/?]*)?([^?#]*)(?:\?([^#]*))?/i.exec(url) ?? []
  if (whole !== base && !whole.startsWith(`${base}/`)) return undefined
  return { path: whole.slice(base.length) || '/', query: new URLSearchParams(query) }
}

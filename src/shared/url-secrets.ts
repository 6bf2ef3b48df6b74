import { HIDDEN } from './redact.ts'

/** Start and end of a secret part. */
type Span = readonly [start: number, end: number]

/**
 * Finds the parts of a URL that may be secret: the user info, the values of the query and of the fragment, and path
 * segments that look random. Payload URLs of automation services are passwords: whoever knows one can start the flow.
 */
function findSecrets(url: string): Span[] {
  const [start = '', userInfo = ''] = /^[a-z][a-z\d+.-]*:[/\\]*([^/\\?#]*@)?/i.exec(url) ?? []
  const pathEnd = url.search(/[?#]/)
  const path = pathEnd < 0 ? url.length : pathEnd
  const spans: Span[] = userInfo ? [[start.length - userInfo.length, start.length - 1]] : []
  const afterHost = url.slice(start.length).search(/[/\\?#]/)
  if (afterHost >= 0)
    for (const { 0: segment, index } of url.slice(start.length + afterHost, path).matchAll(/[^/\\;=]+/g)) {
      const at = start.length + afterHost + index
      if (looksRandom(segment)) spans.push([at, at + segment.length])
    }
  for (const { 0: parameter, index } of url.slice(path).matchAll(/[^?&#;]+/g)) {
    const at = path + index
    const value = parameter.indexOf('=') + 1
    if (value < parameter.length) spans.push([at + value, at + parameter.length])
  }
  return spans
}

/** True for long segments without words: letters and digits alternate, or they go on for long. */
function looksRandom(segment: string): boolean {
  const text = decodePercent(segment)
  if (/[a-z\d]{20}/i.test(text)) return true
  const alternations = text.match(/[a-z](?=\d)|\d(?=[a-z])/gi)?.length ?? 0
  const capitals = text.match(/[a-z](?=[A-Z])|[A-Z](?=[A-Z][a-z])/g)?.length ?? 0
  return text.length >= 12 && (alternations >= 3 || (alternations >= 1 && capitals >= 2) || capitals >= 5)
}

/** Replaces the secret parts of a URL by `***`. */
export const maskUrl = (url: string): string => replaceSecrets(url, () => HIDDEN)

/** @param replace returns what a secret part becomes. It gets the text before the part */
export function replaceSecrets(url: string, replace: (before: string) => string): string {
  let result = ''
  let end = 0
  for (const [start, next] of findSecrets(url)) {
    result += url.slice(end, start) + replace(url.slice(0, start))
    end = next
  }
  return result + url.slice(end)
}

/** Returns the secret parts of a URL, as they are and percent-decoded. */
export function secretsOfUrl(url: string): string[] {
  const parts = findSecrets(url).map(([start, end]) => url.slice(start, end))
  return [...new Set(parts.flatMap((part) => [part, decodePercent(part)]))]
}

/** Decodes percent-encoding. Returns text with invalid sequences as it is. */
export function decodePercent(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

import type { IncomingMessage } from 'node:http'
import type { HeaderBag } from '../receiver/headers.ts'

/**
 * Returns the headers of a Node request. Of `content-type`, `authorization` and some others Node keeps only the first
 * value, while other platforms join all of them. Here they are joined too, so that the verdict is the same everywhere.
 */
export function headersOf({ headers, rawHeaders = [] }: IncomingMessage): HeaderBag {
  // No header occurs twice, as in nearly all requests.
  if (Object.keys(headers).length * 2 === rawHeaders.length) return headers
  const joined = { ...headers }
  const first = new Map<string, string>()
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const [raw, value] = rawHeaders.slice(i, i + 2) as [string, string]
    const name = raw.toLowerCase()
    if (!first.has(name)) first.set(name, value)
    else if (headers[name] === first.get(name)) joined[name] += `, ${value}`
  }
  return joined
}

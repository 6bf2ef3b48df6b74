import type { IncomingMessage } from 'node:http'
import type { HeaderBag } from '../receiver/headers.ts'

/**
 * Returns the headers of a Node request, and joins repeated values, as other platforms do. Node itself keeps only the
 * first value of `content-type`, `authorization` and some other headers.
 */
export function headersOf({ headers, rawHeaders = [] }: IncomingMessage): HeaderBag {
  // Fast path: in nearly all requests no header occurs twice.
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

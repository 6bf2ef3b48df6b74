import type { IncomingMessage } from 'node:http'
import type { HeaderBag } from '../receiver/headers.ts'

/**
 * The headers of a Node request. Of `content-type`, `authorization` and some others Node keeps the first value and drops
 * the rest, where other platforms join all of them: every value counts, so that each platform comes to the same verdict.
 */
export function headersOf({ headers, rawHeaders = [] }: IncomingMessage): HeaderBag {
  // Nearly always: no header came twice.
  if (Object.keys(headers).length * 2 === rawHeaders.length) return headers
  const values = new Map<string, string[]>()
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = (rawHeaders[i] as string).toLowerCase()
    const list = values.get(name) ?? []
    list.push(rawHeaders[i + 1] as string)
    values.set(name, list)
  }
  const dropped = [...values].filter(([name, list]) => list.length > 1 && headers[name] === list[0])
  return { ...headers, ...Object.fromEntries(dropped) }
}

import type { Request } from 'express'
import { AdminError } from '../http/errors.ts'
import type { Format } from '../http/response.ts'
import { type Parameters, readQuery, single } from './form-fields.ts'

const FORMATS: readonly string[] = ['json', 'pjson', 'html'] satisfies Format[]

/**
 * Reads `f`, in any letter case.
 *
 * @throws {AdminError} 400 for an unknown format
 */
export function readFormat(parameters: Parameters): Format | undefined {
  const f = single(parameters, 'f')?.toLowerCase()
  if (f === undefined) return undefined
  if (!FORMATS.includes(f)) throw new AdminError(400, 'f must be json, pjson or html')
  return f as Format
}

/**
 * Returns the format to use before the parameters are read, and afterwards if they contain no `f`: the `f` of the
 * query, otherwise HTML for clients that prefer HTML to JSON.
 */
export function initialFormat(req: Request, query: string): Format {
  try {
    const format = readFormat(readQuery(query))
    if (format) return format
  } catch {
    // The query is read again later, and its errors are reported then.
  }
  return req.accepts(['application/json', 'text/html']) === 'text/html' ? 'html' : 'json'
}

import type { Request } from 'express'
import { AdminError } from '../http/errors.ts'
import { type Parameters, readQuery, single } from './form-fields.ts'

/** JSON, JSON with indents, or a page for people. */
export type Format = 'json' | 'pjson' | 'html'

const FORMATS: readonly string[] = ['json', 'pjson', 'html'] satisfies Format[]

/** @throws {AdminError} 400 for a format that is none */
export function readFormat(parameters: Parameters): Format | undefined {
  const f = single(parameters, 'f')
  if (f === undefined) return undefined
  if (!FORMATS.includes(f)) throw new AdminError(400, 'f must be json, pjson or html')
  return f as Format
}

/**
 * How to answer before the parameters are read: as the query asks for, else a page for browsers. Whoever takes anything
 * gets JSON.
 */
export function formatBefore(req: Request, query: string): Format {
  try {
    const format = readFormat(readQuery(query))
    if (format) return format
  } catch {
    // Whatever is wrong there is said when its turn comes.
  }
  return req.accepts(['application/json', 'text/html']) === 'text/html' ? 'html' : 'json'
}

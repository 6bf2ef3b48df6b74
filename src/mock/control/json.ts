import type { Request, RequestHandler, Response } from 'express'
import { raw } from 'express'
import { bodyFormat, decodePayload } from '../../payload/parse.ts'
import type { Attempt } from '../delivery/attempt-log.ts'
import { AdminError, toAdminError } from '../http/errors.ts'

/** Reads a request body of any media type. */
export const readBytes = (limit: '1mb' | '16mb'): RequestHandler => raw({ type: () => true, limit })

/**
 * Parses the JSON body of a request. Refuses object keys that could change a prototype.
 *
 * @throws {AdminError} 415 if the media type is not JSON, so that web pages cannot submit forms; 400 for an empty body
 *   or invalid JSON; 500 if other code has read the body
 */
export function readJson({ body, headers }: Request): unknown {
  if (body !== undefined && !(body instanceof Uint8Array))
    throw new AdminError(500, 'something read the body before the mock service; mount the mock service first')
  if (!body || body.length === 0) throw new AdminError(400, 'a body of JSON is required')
  const contentType = headers['content-type']
  if (bodyFormat(contentType) !== 'json') throw new AdminError(415, 'send application/json, in UTF-8')
  try {
    return decodePayload(body, contentType, '')
  } catch (error) {
    throw new AdminError(400, (error as Error).message)
  }
}

/** @throws {AdminError} 400 for an unknown or repeated parameter */
export function readQuery<Name extends string>(
  { originalUrl }: Request,
  names: readonly Name[],
): Partial<Record<Name, string>> {
  const values: Partial<Record<Name, string>> = {}
  const [, query] = /\?([^#]*)/.exec(originalUrl) ?? []
  for (const [name, value] of new URLSearchParams(query)) {
    const known = names.find((candidate) => candidate === name)
    if (known === undefined) throw new AdminError(400, 'there is a query parameter that is not known here')
    if (values[known] !== undefined) throw new AdminError(400, `${known} is given more than once`)
    values[known] = value
  }
  return values
}

export function sendError(res: Response, error: unknown): void {
  const { status, messages } = toAdminError(error)
  res.status(status).json({ status: 'error', messages, code: status })
}

/** An attempt as JSON, with its body in base64. */
export type AttemptJson = Omit<Attempt, 'request'> & {
  request: { method: string; headers: Record<string, string>; body: string }
}

export const toAttemptJson = ({ request: { method, headers, body }, ...attempt }: Attempt): AttemptJson => ({
  ...attempt,
  request: { method, headers, body: Buffer.from(body).toString('base64') },
})

import type { Request, RequestHandler, Response } from 'express'
import { raw } from 'express'
import { WebhookError } from '../../errors.ts'
import { decodePayload } from '../../payload/decode.ts'
import { bodyFormat } from '../../payload/media-type.ts'
import { AdminError } from '../administration/errors.ts'

const MAX_BODY = '64mb'

/** Reads the bytes of a body; a snapshot may be large. */
export const readBytes: RequestHandler = raw({ type: () => true, limit: MAX_BODY })

/**
 * The JSON of a request, without keys that reach a prototype; an empty object where there is no body.
 *
 * @throws {AdminError} 415 for another media type, which also keeps forms of web pages out; 400 for what is not JSON
 */
export function readJson({ body, headers }: Request): unknown {
  if (!(body instanceof Uint8Array) || body.length === 0) return {}
  const contentType = headers['content-type']
  if (bodyFormat(contentType) !== 'json') throw new AdminError(415, 'send application/json, in UTF-8')
  try {
    return decodePayload(body, contentType, '')
  } catch (error) {
    throw new AdminError(400, (error as Error).message)
  }
}

/** @throws {AdminError} 400 for a parameter that is not known, or comes twice */
export function readQuery<Name extends string>(
  { originalUrl }: Request,
  names: readonly Name[],
): Partial<Record<Name, string>> {
  const values: Partial<Record<Name, string>> = {}
  for (const [name, value] of new URL(originalUrl, 'http://localhost').searchParams) {
    const known = names.find((candidate) => candidate === name)
    if (known === undefined) throw new AdminError(400, 'there is a query parameter that is not known here')
    if (values[known] !== undefined) throw new AdminError(400, `${known} is given more than once`)
    values[known] = value
  }
  return values
}

/** The answer to an error; what is not the caller's fault is not told. */
export function answerError(res: Response, error: unknown): void {
  const { status, messages } = toAdminError(error)
  res.status(status).json({ status: 'error', messages, code: status })
}

function toAdminError(error: unknown): { status: number; messages: readonly string[] } {
  if (error instanceof AdminError) return error
  if (error instanceof WebhookError && error.code === 'config_invalid')
    return { status: 400, messages: [error.message] }
  const { status, message } = error as { status?: number; message?: string }
  if (status !== undefined && status >= 400 && status < 500) return { status, messages: [String(message)] }
  return { status: 500, messages: ['internal error'] }
}

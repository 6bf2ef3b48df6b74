import { type Request, type Response, raw } from 'express'
import { AdminError } from '../http/errors.ts'
import { type Parameters, readParameters, readQuery } from './form-fields.ts'
import type { Operation } from './operation.ts'
import type { Reply } from './response.ts'
import { readFormat } from './response-format.ts'

const MAX_BODY = '1mb'

/** Path and query as they were sent; also of a URL that names the host (RFC 9112, section 3.2.2). */
export function splitUrl(url: string): { path: string; query: string } {
  const [, path = '', query = ''] = /^(?:https?:\/\/[^/?]*)?([^?]*)\??(.*)$/is.exec(url) ?? []
  return { path, query }
}

/** @throws {AdminError} 405 */
export function readMethod(req: Request, res: Response, { methods }: Operation): 'GET' | 'POST' {
  const method = methods.find((name) => name === (req.method === 'HEAD' ? 'GET' : req.method))
  if (method) return method
  const allowed = methods.flatMap((name) => (name === 'GET' ? ['GET', 'HEAD'] : [name]))
  res.set('allow', allowed.join(', '))
  throw new AdminError(405, `use ${allowed.join(' or ')}`)
}

/**
 * The parameters: of the query for GET, of the form for POST. Of the query of a POST only `f` is taken, for clients
 * that send no form with it; never a token, because URLs are logged.
 */
export async function readRequest(
  req: Request,
  res: Response,
  reply: Reply,
  method: 'GET' | 'POST',
  query: string,
): Promise<Parameters> {
  const inQuery = readQuery(query)
  follow(reply, inQuery)
  if (method === 'GET') return inQuery
  await readBody(req, res)
  const parameters = readParameters(req.body, req.headers['content-type'])
  follow(reply, parameters)
  return parameters
}

/** Whoever asks for a format that is none gets JSON. */
function follow(reply: Reply, parameters: Parameters): void {
  try {
    reply.format = readFormat(parameters) ?? reply.format
  } catch (error) {
    reply.format = 'json'
    throw error
  }
}

const parseRaw = raw({ type: () => true, limit: MAX_BODY })

const readBody = (req: Request, res: Response): Promise<void> =>
  new Promise((resolve, reject) => {
    parseRaw(req, res, (error?: unknown) => (error === undefined ? resolve() : reject(error)))
  })

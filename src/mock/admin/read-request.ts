import { type Request, type Response, raw } from 'express'
import { AdminError } from '../http/errors.ts'
import type { Format } from '../http/response.ts'
import { type Parameters, readForm, readQuery } from './form-fields.ts'
import type { Operation } from './operation.ts'
import { readFormat } from './response-format.ts'

const MAX_BODY = '1mb'

/** The format of the response, set as soon as it is known, so that errors have it too. */
export interface CurrentFormat {
  current: Format
}

/** Splits a URL without decoding. The URL may include scheme and host (RFC 9112, section 3.2.2). */
export function splitUrl(url: string): { path: string; query: string } {
  const [, path = '', query = ''] = /^(?:https?:\/\/[^/?]*)?([^?]*)\??(.*)$/is.exec(url) ?? []
  return { path, query }
}

/** @throws {AdminError} 405 */
export function readMethod(
  req: Request,
  res: Response,
  { methods }: Pick<Operation, 'methods'>,
): 'GET' | 'POST' {
  const method = methods.find((name) => name === (req.method === 'HEAD' ? 'GET' : req.method))
  if (method) return method
  const allowed = methods.flatMap((name) => (name === 'GET' ? ['GET', 'HEAD'] : [name]))
  res.set('allow', allowed.join(', '))
  throw new AdminError(405, `use ${allowed.join(' or ')}`)
}

/**
 * Reads the parameters: from the query of a GET request, and from the form of a POST request. In the query of a POST
 * request, only `f` has an effect: a token there is ignored, because URLs are logged.
 */
export async function readRequest(
  req: Request,
  res: Response,
  format: CurrentFormat,
  method: 'GET' | 'POST',
  query: string,
): Promise<Parameters> {
  const inQuery = readQuery(query)
  updateFormat(format, inQuery)
  if (method === 'GET') return inQuery
  await readBody(req, res)
  const { parameters, files } = await readForm(req.body, req.headers['content-type'])
  if (files.size > 0) throw new AdminError(400, 'the administration accepts no files')
  updateFormat(format, parameters)
  return parameters
}

/** Sets the format of the response. If the requested format is unknown, the error response is JSON. */
function updateFormat(format: CurrentFormat, parameters: Parameters): void {
  try {
    format.current = readFormat(parameters) ?? format.current
  } catch (error) {
    format.current = 'json'
    throw error
  }
}

const parseRaw = raw({ type: () => true, limit: MAX_BODY })

const readBody = (req: Request, res: Response): Promise<void> =>
  new Promise((resolve, reject) => {
    parseRaw(req, res, (error?: unknown) => (error === undefined ? resolve() : reject(error)))
  })

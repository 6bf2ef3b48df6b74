import { type Request, type Response, raw } from 'express'
import { type Form, readForm, readQuery } from '../admin/form-fields.ts'
import { AdminError } from '../http/errors.ts'

/**
 * Reads the parameters: from the query and, for POST, from the form, whose fields take precedence. A token in the query
 * of a POST request is ignored, because URLs are logged.
 *
 * @throws {AdminError} 400, 413 or 415
 */
export async function readFeatureRequest(
  req: Request,
  res: Response,
  method: 'GET' | 'POST',
  query: string,
): Promise<Form> {
  const inQuery = readQuery(query)
  if (method === 'GET') return { parameters: inQuery, files: new Map() }
  await readBody(req, res)
  const { parameters, files } = await readForm(req.body, req.headers['content-type'])
  const rest = [...inQuery].filter(([name]) => name !== 'token')
  return { parameters: new Map([...rest, ...parameters]), files }
}

const parseRaw = raw({ type: () => true, limit: '16mb' })

const readBody = (req: Request, res: Response): Promise<void> =>
  new Promise((resolve, reject) => {
    parseRaw(req, res, (error?: unknown) => {
      if (error === undefined) resolve()
      else reject(isTooLarge(error) ? new AdminError(413, 'the body is larger than 16 MB') : error)
    })
  })

const isTooLarge = (error: unknown): boolean => (error as { status?: unknown } | null)?.status === 413

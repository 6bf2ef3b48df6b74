import { type Request, type Response, raw } from 'express'
import { type Parameters, readParameters, readQuery } from '../admin/form-fields.ts'
import { AdminError } from '../http/errors.ts'
import { isMultipart, readMultipart, type UploadedFile } from '../http/multipart.ts'

/** The parameters of a request. */
export interface FeatureRequest {
  parameters: Parameters
  files: ReadonlyMap<string, UploadedFile>
}

const NO_FILES: ReadonlyMap<string, UploadedFile> = new Map()

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
): Promise<FeatureRequest> {
  const inQuery = readQuery(query)
  if (method === 'GET') return { parameters: inQuery, files: NO_FILES }
  await readBody(req, res)
  const { parameters, files } = await readForm(req)
  const rest = [...inQuery].filter(([name]) => name !== 'token')
  return { parameters: new Map([...rest, ...parameters]), files }
}

async function readForm({ body, headers }: Request): Promise<FeatureRequest> {
  const contentType = headers['content-type']
  if (contentType === undefined || !isMultipart(contentType) || !(body instanceof Uint8Array))
    return { parameters: readParameters(body, contentType), files: NO_FILES }
  const { fields, files } = await readMultipart(body, contentType)
  return { parameters: fields, files }
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

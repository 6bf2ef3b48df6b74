import { AdminError } from './errors.ts'

/** A file of a form. */
export interface UploadedFile {
  name: string
  contentType: string
  bytes: Uint8Array
}

/** The parts of a `multipart/form-data` form. */
export interface MultipartForm {
  /** The values of each field without a file. */
  parameters: Map<string, string[]>
  files: Map<string, UploadedFile>
}

const MAX_PARTS = 1000

/** True for the media type `multipart/form-data`. */
export const isMultipart = (contentType: string | undefined): contentType is string =>
  /^multipart\/form-data\s*;/i.test(contentType ?? '')

/**
 * Parses `multipart/form-data` (RFC 7578).
 *
 * @param bytes a body whose size is already limited
 * @throws {AdminError} 400 for an invalid body, more than 1000 parts, or two files with the same name of a field
 */
export async function readMultipart(bytes: Uint8Array, contentType: string): Promise<MultipartForm> {
  const parameters = new Map<string, string[]>()
  const files = new Map<string, UploadedFile>()
  let parts = 0
  for (const [name, value] of await parse(bytes, contentType)) {
    parts += 1
    if (parts > MAX_PARTS) throw new AdminError(400, `the form has more than ${MAX_PARTS} parts`)
    if (typeof value === 'string') {
      parameters.set(name, [...(parameters.get(name) ?? []), value])
    } else {
      if (files.has(name)) throw new AdminError(400, 'the form has two files in one field')
      const { name: fileName, type } = value
      const content = new Uint8Array(await value.arrayBuffer())
      const contentType = type.split(';', 1)[0]?.trim() || 'application/octet-stream'
      files.set(name, { name: fileName, contentType, bytes: content })
    }
  }
  return { parameters, files }
}

/** @throws {AdminError} 400 */
async function parse(bytes: Uint8Array, contentType: string): Promise<Iterable<[string, string | File]>> {
  try {
    // A copy, because the types of `Response` do not accept shared memory.
    return await new Response(Uint8Array.from(bytes), { headers: { 'content-type': contentType } }).formData()
  } catch {
    throw new AdminError(400, 'the body is not valid multipart/form-data')
  }
}

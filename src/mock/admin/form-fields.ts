import { toText } from '../../payload/json.ts'
import { bodyFormat, parseForm } from '../../payload/parse.ts'
import { AdminError } from '../http/errors.ts'
import { isMultipart, readMultipart, type UploadedFile } from '../http/multipart.ts'

/** The values of each form field. */
export type Parameters = ReadonlyMap<string, readonly string[]>

/** A form: the values of its fields, and its files by the name of the field. */
export interface Form {
  parameters: Parameters
  files: ReadonlyMap<string, UploadedFile>
}

/**
 * Parses a form (docs/specification.md, "Endpoints"), URL-encoded or multipart. An empty body has no parameters.
 *
 * @throws {AdminError} 415 if the media type is not that of a form, 400 for an invalid form, 500 if other code has
 *   read the body
 */
export async function readForm(body: unknown, contentType: string | undefined): Promise<Form> {
  if (body !== undefined && !(body instanceof Uint8Array))
    throw new AdminError(500, 'something read the body before the mock service; mount the mock service first')
  if (!body || body.length === 0) return { parameters: new Map(), files: new Map() }
  if (isMultipart(contentType)) return readMultipart(body, contentType)
  if (bodyFormat(contentType) !== 'form') {
    throw new AdminError(
      415,
      'parameters must be sent as application/x-www-form-urlencoded or multipart/form-data, in UTF-8',
    )
  }
  return { parameters: parse(() => toText(body)), files: new Map() }
}

/** @throws {AdminError} 400 for an invalid query */
export const readQuery = (query: string): Parameters => (query === '' ? new Map() : parse(() => query))

function parse(read: () => string): Parameters {
  try {
    return parseForm(read())
  } catch (error) {
    throw new AdminError(400, (error as Error).message)
  }
}

/**
 * Returns the value of a parameter; undefined if it is absent or empty.
 *
 * @throws {AdminError} 400 for a repeated parameter
 */
export function single(parameters: Parameters, name: string): string | undefined {
  const values = parameters.get(name) ?? []
  if (values.length > 1) throw new AdminError(400, `${name} is given more than once`)
  return values[0] === '' ? undefined : values[0]
}

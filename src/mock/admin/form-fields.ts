import { parseForm } from '../../payload/form.ts'
import { bodyFormat } from '../../payload/media-type.ts'
import { toText } from '../../payload/utf8.ts'
import { AdminError } from '../http/errors.ts'

/** The values of each form field. */
export type Parameters = ReadonlyMap<string, readonly string[]>

/**
 * Parses a form (docs/specification.md, "Endpoints"). An empty body has no parameters.
 *
 * @throws {AdminError} 415 if the media type is not that of a form, 400 for an invalid form, 500 if other code has
 *   read the body
 */
export function readParameters(body: unknown, contentType: string | undefined): Parameters {
  if (body !== undefined && !(body instanceof Uint8Array))
    throw new AdminError(500, 'something read the body before the mock service; mount the mock service first')
  if (!body || body.length === 0) return new Map()
  if (bodyFormat(contentType) !== 'form') {
    throw new AdminError(415, 'parameters must be sent as application/x-www-form-urlencoded, in UTF-8')
  }
  return parse(() => toText(body))
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

import type { Values } from '../action.ts'
import { InspectorError } from './message.ts'

/** Maximum size of a submitted form in bytes. */
const MAX_FORM = 4 * 1024 * 1024
const MAX_FIELDS = 100

/** @throws {InspectorError} 415 if the media type is not that of a form, which is what browsers send */
export function requireFormType(contentType: string | undefined): void {
  if (!/^application\/x-www-form-urlencoded\s*(;|$)/i.test(contentType ?? ''))
    throw new InspectorError(415, 'Send a form: content-type application/x-www-form-urlencoded.')
}

const tooLarge = (): InspectorError => new InspectorError(413, 'The form is larger than 4 MiB.')

/**
 * Reads a form to its end.
 *
 * @throws {InspectorError} 413 if it is too large, 400 if the client disconnects before its end
 */
export async function readChunks(chunks: AsyncIterable<Uint8Array>): Promise<Values> {
  const all: Uint8Array[] = []
  let length = 0
  try {
    for await (const chunk of chunks) {
      length += chunk.length
      if (length > MAX_FORM) throw tooLarge()
      all.push(chunk)
    }
  } catch (error) {
    throw error instanceof InspectorError ? error : new InspectorError(400, 'The form is incomplete.')
  }
  return parseForm(Buffer.concat(all))
}

/** Parses a submitted form. The last value of a repeated field counts. Browsers submit line breaks as CRLF. */
export const parseForm = (body: Uint8Array): Values =>
  toValues(new URLSearchParams(Buffer.from(body).toString()))

/** Reads the fields of a form that a body parser has parsed already; values other than text are ignored. */
export const fromParsed = (body: object): Values => toValues(Object.entries(body))

function toValues(fields: Iterable<readonly [string, unknown]>): Values {
  const values: Record<string, string> = Object.create(null)
  let count = 0
  for (const [name, value] of fields) {
    if (++count > MAX_FIELDS) throw new InspectorError(413, `The form has more than ${MAX_FIELDS} fields.`)
    if (typeof value === 'string') values[name] = value.replaceAll('\r\n', '\n')
  }
  return values
}

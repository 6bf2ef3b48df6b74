import type { IncomingMessage } from 'node:http'
import { bodyFormat, decodePayload, parseForm } from '../../payload/parse.ts'
import { toText } from '../../shared/json.ts'
import { AdminError, quote } from './errors.ts'
import type { ParameterDescription, Parameters } from './operation.ts'

export interface UploadedFile {
  name: string
  contentType: string
  bytes: Uint8Array
}

/** A form: the values of its fields, and its files by the name of the field. */
export interface Form {
  parameters: Parameters
  files: ReadonlyMap<string, UploadedFile>
}

const MAX_PARTS = 1000

/**
 * Parses `multipart/form-data` (RFC 7578).
 *
 * @param bytes a body whose size is already limited
 */
async function readMultipart(bytes: Uint8Array, contentType: string): Promise<Form> {
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

async function parse(bytes: Uint8Array, contentType: string): Promise<Iterable<[string, string | File]>> {
  try {
    // A copy, because the types of `Response` do not accept shared memory.
    return await new Response(Uint8Array.from(bytes), { headers: { 'content-type': contentType } }).formData()
  } catch {
    throw new AdminError(400, 'the body is not valid multipart/form-data')
  }
}

/** A request, possibly with what Express and its parsers add to it. */
export type MountedRequest = IncomingMessage & {
  body?: unknown
  baseUrl?: string
  protocol?: string
}

/** Splits a URL without decoding. The URL may include scheme and host (RFC 9112, section 3.2.2). */
export function splitUrl(url: string): { path: string; query: string } {
  const [, path = '', query = ''] = /^(?:https?:\/\/[^/?]*)?([^?]*)\??(.*)$/is.exec(url) ?? []
  return { path, query }
}

/** Scheme and host as the client sees them. */
export const originOf = ({ protocol = 'http', headers }: MountedRequest): string =>
  `${protocol}://${headers.host ?? 'localhost'}`

/**
 * Reads the body; returns undefined if there is none.
 *
 * @param limit maximum size in MB
 */
export async function readBody(req: MountedRequest, limit: number): Promise<Uint8Array | undefined> {
  if (req.body instanceof Uint8Array) return req.body
  if (req.body !== undefined)
    throw new AdminError(500, 'something read the body before the mock service; mount the mock service first')
  const { 'content-length': length, 'transfer-encoding': chunked, 'content-encoding': encoding } = req.headers
  if (length === undefined && chunked === undefined) return undefined
  if (encoding && encoding.toLowerCase() !== 'identity')
    throw new AdminError(415, `unsupported content encoding ${quote(encoding)}`)
  const tooLarge = new AdminError(413, `the body is too large: the limit is ${limit} MB`)
  const maxBytes = limit * 1024 * 1024
  if (Number(length) > maxBytes) throw tooLarge
  const chunks: Buffer[] = []
  let bytes = 0
  await new Promise<void>((resolve, reject) => {
    req.on('data', (chunk: Buffer) => {
      bytes += chunk.length
      if (bytes <= maxBytes) chunks.push(chunk)
      else reject(tooLarge)
    })
    req.once('end', resolve)
    req.once('error', () => reject(new AdminError(400, 'the request was aborted')))
  })
  return Buffer.concat(chunks)
}

/**
 * Parses a form (docs/specification.md, "Endpoints"), URL-encoded or multipart. An empty body has no parameters.
 */
export async function readForm(body: Uint8Array | undefined, contentType: string | undefined): Promise<Form> {
  if (!body || body.length === 0) return { parameters: new Map(), files: new Map() }
  if (contentType && /^multipart\/form-data\s*;/i.test(contentType)) return readMultipart(body, contentType)
  if (bodyFormat(contentType) !== 'form') {
    throw new AdminError(
      415,
      'parameters must be sent as application/x-www-form-urlencoded or multipart/form-data, in UTF-8',
    )
  }
  return { parameters: orBadRequest(() => parseForm(toText(body))), files: new Map() }
}

/** Parses a body of JSON. Refuses object keys that could change a prototype. */
export function readJsonBody(body: Uint8Array | undefined, contentType: string | undefined): unknown {
  if (!body || body.length === 0) throw new AdminError(400, 'a body of JSON is required')
  if (bodyFormat(contentType) !== 'json') throw new AdminError(415, 'send application/json, in UTF-8')
  return orBadRequest(() => decodePayload(body, contentType, ''))
}

export const readQuery = (query: string): Parameters =>
  query === '' ? new Map() : orBadRequest(() => parseForm(query))

function orBadRequest<T>(read: () => T): T {
  try {
    return read()
  } catch (error) {
    throw new AdminError(400, (error as Error).message)
  }
}

/** Returns the value of a parameter; undefined if it is absent or empty. */
export function single(parameters: Parameters, name: string): string | undefined {
  const values = parameters.get(name) ?? []
  if (values.length > 1) throw new AdminError(400, `${name} is given more than once`)
  return values[0] === '' ? undefined : values[0]
}

/** Reads `true` or `false` in any letter case: Python writes `True`. */
export function readBoolean(parameters: Parameters, name: string): boolean | undefined {
  const value = single(parameters, name)?.trim().toLowerCase()
  if (value === undefined) return undefined
  if (value === 'true' || value === 'false') return value === 'true'
  throw new AdminError(400, `${name} must be true or false`)
}

export function readInteger(
  parameters: Parameters,
  name: string,
  { minimum = 0, maximum = 999_999_999 }: { minimum?: number; maximum?: number },
): number | undefined {
  const value = single(parameters, name)
  if (value === undefined) return undefined
  const number = /^\d{1,9}$/.test(value) ? Number(value) : Number.NaN
  if (number >= minimum && number <= maximum) return number
  throw new AdminError(400, `${name} must be a whole number from ${minimum} to ${maximum}`)
}

/** Reads text without white space around it and control characters. */
function readPlainText(parameters: Parameters, name: string, maxLength: number): string | undefined {
  const value = single(parameters, name)
  if (value === undefined) return undefined
  if (value !== value.trim()) throw new AdminError(400, `${name} has white space around it`)
  if (/\p{Cc}/u.test(value)) throw new AdminError(400, `${name} holds control characters`)
  if (value.length > maxLength) throw new AdminError(400, `${name} is longer than ${maxLength} characters`)
  return value
}

/** The parts of a parameter's JSON Schema that are checked. */
interface ReadableSchema {
  type?: string
  enum?: readonly string[]
  minimum?: number
  maximum?: number
  maxLength?: number
}

/**
 * Reads a parameter as its description says.
 *
 * @returns undefined if it is absent or empty
 */
export function readParameter(
  parameters: Parameters,
  { name, required, schema, read = readBySchema(schema) }: Omit<ParameterDescription, 'description'>,
): unknown {
  const value = read(parameters, name)
  if (value === undefined && required) throw new AdminError(400, `${name} is required`)
  return value
}

const readBySchema =
  ({ type, enum: words, maxLength, ...bounds }: ReadableSchema): NonNullable<ParameterDescription['read']> =>
  (parameters, name) => {
    if (type === 'boolean') return readBoolean(parameters, name)
    if (type === 'integer') return readInteger(parameters, name, bounds)
    if (maxLength !== undefined) return readPlainText(parameters, name, maxLength)
    const value = single(parameters, name)
    if (value === undefined || !words || words.includes(value)) return value
    throw new AdminError(400, `${name} must be one of ${words.join(', ')}`)
  }

/** Reads parameters as their descriptions say, and omits absent ones. */
export function readAll(
  parameters: Parameters,
  descriptions: readonly ParameterDescription[] = [],
): Record<string, unknown> {
  const messages: string[] = []
  const values: Record<string, unknown> = {}
  for (const description of descriptions) {
    try {
      const value = readParameter(parameters, description)
      if (value !== undefined) values[description.name] = value
    } catch (error) {
      if (!(error instanceof AdminError)) throw error
      messages.push(...error.messages)
    }
  }
  if (messages.length > 0) throw new AdminError(400, ...messages)
  return values
}

/** JSON, indented JSON, or an HTML page that shows the JSON. */
export type Format = 'json' | 'pjson' | 'html'

const FORMATS: readonly string[] = ['json', 'pjson', 'html'] satisfies Format[]

/** Reads `f`, in any letter case. */
export function readFormat(parameters: Parameters): Format | undefined {
  const f = single(parameters, 'f')?.toLowerCase()
  if (f === undefined) return undefined
  if (!FORMATS.includes(f)) throw new AdminError(400, 'f must be json, pjson or html')
  return f as Format
}

/**
 * Returns the format to use before the parameters are read, and afterwards if they contain no `f`: the `f` of the
 * query, otherwise HTML for clients whose header `accept` names HTML, and JSON not before it.
 */
export function initialFormat(accept = '', query: string): Format {
  try {
    const format = readFormat(readQuery(query))
    if (format) return format
  } catch {
    // The query is read again later, and its errors are reported then.
  }
  const [preferred] = accept.toLowerCase().match(/text\/html|application\/json/g) ?? []
  return preferred === 'text/html' ? 'html' : 'json'
}

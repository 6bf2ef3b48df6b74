import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http'
import { renderDocument } from '../../inspector/html/page.ts'
import { html } from '../../inspector/html/template.ts'
import { AdminError, toAdminError } from './errors.ts'
import type { Answer, Method, OperationDescription, Parameters, PathNames, Route } from './operation.ts'
import {
  type Format,
  initialFormat,
  type MountedRequest,
  readBody,
  readForm,
  readFormat,
  readJsonBody,
  readQuery,
  splitUrl,
  type UploadedFile,
} from './request.ts'
import { refuseOtherOrigins } from './server.ts'

/** Handles a request, or passes it on to `next`. */
export type Handler = (req: IncomingMessage, res: ServerResponse, next?: () => unknown) => Promise<void>

/** A request for an operation. */
export interface Exchange<Operation extends OperationDescription> {
  req: MountedRequest
  operation: Operation
  method: Method
  names: PathNames
  parameters: Parameters
  /** Files of a form, by the name of the field. */
  files: ReadonlyMap<string, UploadedFile>
  /** The body, for an operation with JSON. */
  json: unknown
}

/** A set of operations that are served alike. */
interface Area<Operation extends OperationDescription> {
  routes: readonly Route<Operation>[]
  /** Returns the path to look up. Default: the path of the request. */
  toPath?(path: string): string
  /** Maximum size of a body in MB. */
  limitOf(operation: Operation): number
  /** Panel of the inspector to link on pages. Default: no link. */
  panel?: string | undefined
  /** How parameters are sent. Default `separate`: GET has a query, and POST a form. */
  parameters?: 'query' | 'merged' | undefined
  run(exchange: Exchange<Operation>): Promise<Answer>
  /** The HTTP status and body of an error. */
  toFailure(error: AdminError, path: string): { status: number; body: object }
}

/** Creates a handler that runs the operations of an area. Without `next`, unknown paths get 404. */
export function createHandler<Operation extends OperationDescription>(area: Area<Operation>): Handler {
  const match = createMatcher(area.routes)
  const { toPath = (path: string) => path } = area

  return async (req: MountedRequest, res, next) => {
    const { path: requested, query } = splitUrl(req.url ?? '/')
    const path = toPath(requested)
    const found = match(path)
    if (!found && next) {
      next()
      return
    }
    const isControl = area.parameters === 'query'
    const format = { current: isControl ? 'json' : initialFormat(req.headers.accept, query) } as CurrentFormat
    const panel = area.panel && rootOf(requested) + area.panel
    try {
      refuseOtherOrigins(req.headers)
      if (!found) throw new AdminError(404, 'there is nothing here')
      const { method, operation } = findOperation(req, res, found.routes)
      const given = await read(area, { req, operation, method }, query, format)
      const answer = await area.run({ req, operation, method, names: found.names, ...given })
      if ('send' in answer) answer.send(res)
      else sendBody(res, format.current, answer.body, answer.status, panel)
    } catch (error) {
      const { status, body } = area.toFailure(toAdminError(error), path)
      sendBody(res, format.current, body, status, panel)
    }
  }
}

/** The format of the response, set as soon as it is known, so that errors have it too. */
interface CurrentFormat {
  current: Format
}

function findOperation<Operation extends OperationDescription>(
  req: IncomingMessage,
  res: ServerResponse,
  routes: readonly Route<Operation>[],
): { method: Method; operation: Operation } {
  const wanted = req.method === 'HEAD' ? 'GET' : req.method
  for (const { operation } of routes) {
    const method = operation.methods.find((name) => name === wanted)
    if (method) return { method, operation }
  }
  const methods = routes.flatMap(({ operation }) => operation.methods)
  const allowed = methods.flatMap((name) => (name === 'GET' ? ['GET', 'HEAD'] : [name]))
  res.setHeader('allow', allowed.join(', '))
  throw new AdminError(405, `use ${allowed.join(' or ')}`)
}

/**
 * Reads the parameters. In the query of a POST request, a token has no effect, because URLs are logged; in an area that
 * does not merge the query with the form, only `f` has one.
 */
async function read<Operation extends OperationDescription>(
  area: Area<Operation>,
  { req, operation, method }: Pick<Exchange<Operation>, 'req' | 'operation' | 'method'>,
  query: string,
  format: CurrentFormat,
): Promise<Pick<Exchange<Operation>, 'parameters' | 'files' | 'json'>> {
  const inQuery = readQuery(query)
  const given = { parameters: inQuery, files: new Map<string, UploadedFile>(), json: undefined }
  const readBytes = () => readBody(req, area.limitOf(operation))
  const contentType = req.headers['content-type']
  if (area.parameters === 'query') {
    refuseUnknown(inQuery, operation)
    return operation.body ? { ...given, json: readJsonBody(await readBytes(), contentType) } : given
  }
  const isMerged = area.parameters === 'merged'
  if (!isMerged || method === 'GET') updateFormat(format, inQuery)
  if (method === 'GET') return given
  const form = await readForm(await readBytes(), contentType)
  if (form.files.size > 0 && !isMerged) throw new AdminError(400, 'the administration accepts no files')
  const others = isMerged ? [...inQuery].filter(([name]) => name !== 'token') : []
  const parameters = new Map([...others, ...form.parameters])
  updateFormat(format, parameters)
  return { ...given, files: form.files, parameters }
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

function refuseUnknown(query: Parameters, operation: OperationDescription): void {
  for (const name of query.keys()) {
    if (!operation.parameters?.some((parameter) => parameter.name === name))
      throw new AdminError(400, 'there is a query parameter that is not known here')
  }
}

/** What the parameters of some names must look like. A folder may be named like a service (`Parcels.FeatureServer`). */
const PATTERNS: Readonly<Record<string, RegExp>> = {
  service: /.\.(FeatureServer|GPServer)$/s,
  webhookId: /^(?!.+\.(FeatureServer|GPServer)$)/s,
  layerId: /^\d{1,15}$/,
  objectId: /^\d{1,15}$/,
  attachmentId: /^\d{1,15}$/,
}

/**
 * Returns a function that finds the routes of a path, which differ in their methods, and the names in the path. The
 * function returns undefined for other paths. Words have precedence over parameters: in `webhooks/<word>`, the word is
 * an operation if the service has one with this name, otherwise a webhook id.
 */
export function createMatcher<Operation extends OperationDescription>(routes: readonly Route<Operation>[]) {
  const byPath = new Map<string, Route<Operation>[]>()
  for (const route of routes)
    for (const path of [route.path, ...(route.aliases ?? [])])
      byPath.set(path, [...(byPath.get(path) ?? []), route])
  const templates = [...byPath].sort(([one], [other]) => comparePaths(one, other))
  return (path: string): { routes: readonly Route<Operation>[]; names: PathNames } | undefined => {
    const segments = decodeSegments(path) ?? []
    for (const [template, routes] of templates) {
      const names = matchSegments(segments, template.slice(1).split('/'), routes[0]?.anyCase)
      if (names) return { routes, names }
    }
    return undefined
  }
}

/** Orders paths so that a word comes before a parameter at the same position: `{` comes after every letter. */
function comparePaths(one: string, other: string): number {
  const [a = '', b = ''] = [one, other].map((path) => path.replace(/\{\w+\}/g, '{'))
  if (a === b) return 0
  return a < b ? -1 : 1
}

/** @returns undefined if a segment is empty, invalid or contains an encoded slash */
function decodeSegments(path: string): string[] | undefined {
  if (!path.startsWith('/')) return undefined
  try {
    const parts = path.slice(1).split('/').map(decodeURIComponent)
    return parts.every((part) => part !== '' && !part.includes('/')) ? parts : undefined
  } catch {
    return undefined
  }
}

function matchSegments(
  segments: readonly string[],
  template: readonly string[],
  anyCase: readonly string[] = [],
): PathNames | undefined {
  if (segments.length !== template.length) return undefined
  const names: Record<string, string> = {}
  for (const [index, expected] of template.entries()) {
    const segment = segments[index] as string
    const name = /^\{(\w+)\}$/.exec(expected)?.[1]
    if (name === undefined) {
      const isEqual =
        segment === expected ||
        (anyCase.includes(expected) && segment.toLowerCase() === expected.toLowerCase())
      if (!isEqual) return undefined
    } else {
      if (PATTERNS[name]?.test(segment) === false) return undefined
      names[name] = segment
    }
  }
  return names
}

/** Protects the keys in responses. */
const HEADERS = {
  'cache-control': 'no-store',
  'referrer-policy': 'same-origin',
  vary: 'accept',
  'x-content-type-options': 'nosniff',
  'content-security-policy':
    "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
}

/** Sends JSON, or a page that shows it with a link to the panel of the inspector. */
function sendBody(res: ServerResponse, format: Format, body: object, status = 200, panel?: string): void {
  const text = format === 'html' ? toPage(body, panel) : JSON.stringify(body, null, format === 'json' ? 0 : 2)
  res.writeHead(status, {
    ...HEADERS,
    'content-type': `${format === 'html' ? 'text/html' : 'application/json'}; charset=utf-8`,
    'content-length': Buffer.byteLength(text),
  })
  res.end(text)
}

const SIGN_IN = '<!doctype html><html lang="en"><title>Sign in</title><p>Sign in to see this page.</p></html>'

/** Sends a page with the status 200, as a proxy does that requires users to sign in. */
export function sendSignIn(res: ServerResponse): void {
  const headers = { 'cache-control': 'no-store', 'content-type': 'text/html; charset=utf-8' }
  res.writeHead(200, headers).end(SIGN_IN)
}

export function sendBytes(res: ServerResponse, bytes: Uint8Array, headers: OutgoingHttpHeaders): void {
  res.writeHead(200, {
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    'content-length': bytes.length,
    ...headers,
  })
  res.end(bytes)
}

/** Pages never show the keys of webhooks. */
const SECRETS: readonly string[] = ['signatureKey', 'secret']

function toPage(body: object, panel: string | undefined): string {
  const json = JSON.stringify(body, (name, value) => (value && SECRETS.includes(name) ? '***' : value), 2)
  const link = panel === undefined ? html`` : html`<p><a href="${panel}">Inspector</a></p>\n`
  return renderDocument('geohook mock service', html`${link}<pre>${json}</pre>`)
}

/** Relative path from a page to the address of the mock, so that links work wherever the mock is mounted. */
const rootOf = (path: string): string => '../'.repeat(Math.max(0, path.split('/').length - 2)) || './'

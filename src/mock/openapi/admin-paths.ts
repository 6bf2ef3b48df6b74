import { COMMON_PARAMETERS, type Route, routesOf } from '../admin/operations.ts'
import { type ErrorOptions, errorsOf } from '../admin/rest-paths.ts'
import type { ResolvedOptions } from '../options.ts'
import { form, inQuery, pathParameters } from './parameters.ts'

/** OpenAPI operations by path and method. */
export type Paths = Record<string, Record<string, unknown>>

/** Paths of the administration, generated from the same table as its router. */
export function adminPaths(options: ResolvedOptions): Paths {
  const paths: Paths = {}
  for (const route of routesOf(options)) {
    paths[route.path] = Object.fromEntries(
      route.operation.methods.map((method) => [
        method.toLowerCase(),
        describe(route, method, errorsOf(route.path, options)),
      ]),
    )
  }
  return paths
}

function describe({ path, operation, family }: Route, method: 'GET' | 'POST', errors: ErrorOptions): object {
  const { summary, since, response, changes } = operation
  // A GET request cannot change the state, so the parameters of the change are left out.
  const own = method === 'GET' && changes ? [] : operation.parameters
  const parameters = [...own, ...COMMON_PARAMETERS]
  const success = { $ref: `#/components/schemas/${response}` }
  const failure = { $ref: `#/components/schemas/${errors.errorFormat === 'error' ? 'ErrorObject' : 'Error'}` }
  const schema = errors.httpStatus === 'rest' ? success : { anyOf: [success, failure] }
  return {
    operationId: operationId({ path, operation, family }, method),
    summary,
    description: `Since version ${since}.`,
    tags: ['administration'],
    parameters: [...pathParameters(path), ...(method === 'GET' ? parameters.map(inQuery) : [])],
    ...(method === 'POST' ? { requestBody: form(parameters) } : {}),
    responses: {
      200: {
        description: summary,
        content: {
          'application/json': { schema },
          'text/html': { schema: { type: 'string' } },
        },
      },
      default: { $ref: `#/components/responses/${errors.errorFormat === 'error' ? 'ErrorObject' : 'Error'}` },
    },
  }
}

/** Returns an id that is unique for each path and method of an operation. */
function operationId({ path, operation, family }: Route, method: string): string {
  const byGet = method === 'GET' ? 'ByGet' : ''
  if (operation.scope === 'root') return `${operation.name}${byGet}${otherPath(operation.paths, path)}`
  const folder = path.includes('{folderName}') ? 'InFolder' : ''
  const short = path.startsWith('/services/{') && !path.includes('/webhooks') ? 'Short' : ''
  return `${operation.name}${family.name}${byGet}${folder}${short}`
}

/** A word for each path of an operation except the first. */
const otherPath = ([first]: readonly string[], path: string): string =>
  path === first
    ? ''
    : path
        .split('/')
        .map((segment) => segment.slice(0, 1).toUpperCase() + segment.slice(1))
        .join('')
        .replace(/\W/g, '')

import type { Operation } from '../admin/operation.ts'
import { COMMON_PARAMETERS, operationsOf } from '../admin/operations.ts'
import { pathTemplates } from '../admin/paths.ts'
import type { ResolvedOptions } from '../options.ts'
import { form, inQuery, pathParameters } from './parameters.ts'

/** OpenAPI operations by path and method. */
export type Paths = Record<string, Record<string, unknown>>

/** Paths of the administration, generated from the same table as its router. */
export function adminPaths({
  version,
  auth,
  httpStatus,
}: Pick<ResolvedOptions, 'version' | 'auth' | 'httpStatus'>): Paths {
  const paths: Paths = {}
  for (const operation of operationsOf(version, auth?.generateToken !== undefined)) {
    for (const path of pathTemplates(operation)) {
      paths[path] = Object.fromEntries(
        operation.methods.map((method) => [
          method.toLowerCase(),
          describe(operation, path, method, httpStatus),
        ]),
      )
    }
  }
  return paths
}

function describe(
  operation: Operation,
  path: string,
  method: 'GET' | 'POST',
  httpStatus: ResolvedOptions['httpStatus'],
): object {
  const { name, summary, since, response, changes } = operation
  // A GET request cannot change the state, so the parameters of the change are left out.
  const own = method === 'GET' && changes ? [] : operation.parameters
  const parameters = [...own, ...COMMON_PARAMETERS]
  const success = { $ref: `#/components/schemas/${response}` }
  const schema =
    httpStatus === 'rest' ? success : { anyOf: [success, { $ref: '#/components/schemas/Error' }] }
  return {
    operationId: operationId(name, path, method),
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
      default: { $ref: '#/components/responses/Error' },
    },
  }
}

/** Returns an id that is unique for each path and method of an operation. */
function operationId(name: string, path: string, method: string): string {
  const folder = path.includes('{folderName}') ? 'InFolder' : ''
  const short = path.startsWith('/services/{') && !path.includes('/webhooks') ? 'Short' : ''
  return `${name}${method === 'GET' ? 'ByGet' : ''}${folder}${short}`
}

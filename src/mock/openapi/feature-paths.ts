import { COMMON_PARAMETERS } from '../admin/operations.ts'
import type { FeatureOperation } from '../features/operation.ts'
import { FEATURE_OPERATIONS } from '../features/operations.ts'
import { featurePathTemplates } from '../features/paths.ts'
import type { Paths } from './admin-paths.ts'
import { form, inQuery, pathParameters } from './parameters.ts'

/** Paths of feature services, generated from the same table as their router. */
export function featurePaths(): Paths {
  const paths: Paths = {}
  for (const operation of FEATURE_OPERATIONS) {
    for (const path of featurePathTemplates(operation)) {
      paths[path] = Object.fromEntries(
        operation.methods.map((method) => [method.toLowerCase(), describe(operation, path, method)]),
      )
    }
  }
  return paths
}

function describe(operation: FeatureOperation, path: string, method: 'GET' | 'POST'): object {
  const { name, summary, files = [], response } = operation
  const parameters = [...operation.parameters, ...COMMON_PARAMETERS]
  const error = { $ref: '#/components/schemas/ErrorObject' }
  const content =
    typeof response === 'string'
      ? { [response]: {}, 'application/json': { schema: error } }
      : {
          'application/json': { schema: { anyOf: [response, error] } },
          'text/html': { schema: { type: 'string' } },
        }
  return {
    operationId: `${name}${method === 'GET' ? 'ByGet' : ''}${path.includes('{folderName}') ? 'InFolder' : ''}`,
    summary,
    tags: ['features'],
    parameters: [...pathParameters(path), ...(method === 'GET' ? parameters.map(inQuery) : [])],
    ...(method === 'POST' ? { requestBody: form(parameters, files) } : {}),
    responses: { 200: { description: `${summary} Errors have this status too, except 405.`, content } },
  }
}

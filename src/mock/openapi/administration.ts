import type { Operation, ParameterDescription } from '../administration/operation.ts'
import { COMMON_PARAMETERS, operationsOf } from '../administration/operations.ts'
import { pathTemplates } from '../administration/paths.ts'
import type { Options } from '../options.ts'

/** What each path does, by method. */
export type Paths = Record<string, Record<string, unknown>>

/** The paths of the administration, from the table that its router is made from. */
export function administrationPaths({ version, auth }: Pick<Options, 'version' | 'auth'>): Paths {
  const paths: Paths = {}
  for (const operation of operationsOf(version, auth?.generateToken !== undefined)) {
    for (const path of pathTemplates(operation)) {
      paths[path] = Object.fromEntries(
        operation.methods.map((method) => [method.toLowerCase(), describe(operation, path, method)]),
      )
    }
  }
  return paths
}

function describe(operation: Operation, path: string, method: 'GET' | 'POST'): object {
  const { name, summary, since, response } = operation
  const parameters = [...operation.parameters, ...COMMON_PARAMETERS]
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, parameter = '']) => ({
    name: parameter,
    in: 'path',
    required: true,
    schema: { type: 'string' },
  }))
  return {
    operationId: operationId(name, path, method),
    summary,
    description: `Since version ${since}.`,
    tags: ['administration'],
    parameters: [...inPath, ...(method === 'GET' ? parameters.map(inQuery) : [])],
    ...(method === 'POST' ? { requestBody: form(parameters) } : {}),
    responses: {
      200: {
        description: summary,
        content: {
          'application/json': { schema: { $ref: `#/components/schemas/${response}` } },
          'text/html': { schema: { type: 'string' } },
        },
      },
      default: { $ref: '#/components/responses/Error' },
    },
  }
}

/** Unique: the same operation has several paths, and reads have two methods. */
function operationId(name: string, path: string, method: string): string {
  const folder = path.includes('{folderName}') ? 'InFolder' : ''
  const short = path.startsWith('/services/{') && !path.includes('/webhooks') ? 'Short' : ''
  return `${name}${method === 'GET' ? 'ByGet' : ''}${folder}${short}`
}

const inQuery = ({ name, description, required, schema }: ParameterDescription): object => ({
  name,
  in: 'query',
  required,
  description,
  schema,
})

const form = (parameters: readonly ParameterDescription[]): object => ({
  required: parameters.some(({ required }) => required),
  content: {
    'application/x-www-form-urlencoded': {
      schema: {
        type: 'object',
        properties: Object.fromEntries(
          parameters.map(({ name, description, schema }) => [name, { ...schema, description }]),
        ),
        required: parameters.filter(({ required }) => required).map(({ name }) => name),
      },
    },
  },
})

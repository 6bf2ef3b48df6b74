import type { ControlOperation, ControlResponseName } from '../control/operation.ts'
import type { Paths } from './admin-paths.ts'
import { toJsonSchema } from './json-schema.ts'

/** Paths of the control API, generated from the same table as its router. */
export function controlPaths(operations: readonly ControlOperation[]): Paths {
  const paths: Paths = {}
  for (const operation of operations) {
    const path = `/_mock${operation.path.replace(':id', '{id}')}`
    paths[path] = { ...paths[path], [operation.method]: describe(operation, path) }
  }
  return paths
}

function describe({ method, summary, query = {}, body, responses }: ControlOperation, path: string): object {
  const inPath = path.includes('{id}')
    ? [{ name: 'id', in: 'path', required: true, schema: { type: 'string' } }]
    : []
  const inQuery = Object.entries(query).map(([name, parameter]) => ({
    name,
    in: 'query',
    required: false,
    ...parameter,
  }))
  const successes = Object.entries(responses).map(([status, name]) => [
    status,
    { description: summary, content: contentOf(name) },
  ])
  return {
    operationId: `${method}${path.replace(/\W\w/g, (pair) => pair.toUpperCase()).replace(/\W/g, '')}`,
    summary,
    tags: ['control'],
    parameters: [...inPath, ...inQuery],
    ...(body
      ? { requestBody: { required: true, content: { 'application/json': { schema: toJsonSchema(body) } } } }
      : {}),
    responses: { ...Object.fromEntries(successes), default: { $ref: '#/components/responses/Error' } },
  }
}

function contentOf(name: ControlResponseName): object {
  if (name === 'Bytes') return { 'application/octet-stream': {} }
  if (name === 'Stream') return { 'text/event-stream': { schema: { type: 'string' } } }
  const schema = name === 'OpenApi' ? { type: 'object' } : { $ref: `#/components/schemas/${name}` }
  return { 'application/json': { schema } }
}

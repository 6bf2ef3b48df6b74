import { routesOf } from '../admin/operations.ts'
import { FEATURE_ROUTES } from '../features/routes.ts'
import {
  COMMON_PARAMETERS,
  type ErrorOptions,
  type Method,
  type OperationDescription,
  type ParameterDescription,
  type Route,
} from '../http/operation.ts'
import type { ResolvedOptions } from '../options.ts'
import { SCHEMAS, toJsonSchema } from './schemas.ts'

const SECURITY = {
  bearer: { type: 'http', scheme: 'bearer' },
  esri: {
    type: 'apiKey',
    in: 'header',
    name: 'X-Esri-Authorization',
    description: 'The word Bearer and the token',
  },
}

/** The OpenAPI document of a mock service; operations that its version lacks are left out. */
export function openApiDocument(options: ResolvedOptions, controlRoutes: readonly Route[]): object {
  const { version, auth } = options
  return {
    openapi: '3.1.0',
    info: {
      title: 'geohook mock service',
      version,
      description:
        'Administration of the webhooks of geoprocessing and feature services, the features of feature services, and a control API for tests under /_mock.',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: '/' }],
    tags: [
      { name: 'administration', description: 'Operations of the service' },
      { name: 'features', description: 'Features behind the webhooks of a feature service' },
      { name: 'control', description: 'Operations that only a mock has' },
    ],
    // `{}` makes the headers optional, because operations also accept the token as a parameter.
    security: auth ? [{ bearer: [] }, { esri: [] }, {}] : [],
    paths: pathsOf([...routesOf(options), ...FEATURE_ROUTES, ...controlRoutes], options),
    components: {
      ...(auth ? { securitySchemes: SECURITY } : {}),
      schemas: SCHEMAS,
      responses: {
        Error: errorResponse('Error'),
        ErrorObject: errorResponse('ErrorObject'),
      },
    },
  }
}

const errorResponse = (schema: string): object => ({
  description: 'Error messages; the HTTP status is the code, or 200 if the service is so configured',
  content: {
    'application/json': { schema: { $ref: `#/components/schemas/${schema}` } },
    'text/html': { schema: { type: 'string' } },
  },
})

/** The paths of all operations, generated from the same table as the router. */
function pathsOf(routes: readonly Route[], errors: ErrorOptions): Record<string, object> {
  const paths: Record<string, object> = {}
  for (const route of routes)
    for (const method of route.operation.methods)
      paths[route.path] = {
        ...paths[route.path],
        [method.toLowerCase()]: describe(route, method, errors),
      }
  return paths
}

function describe(route: Route, method: Method, errors: ErrorOptions): object {
  const { path, tag, operation } = route
  const { summary, changes, since } = operation
  const own = method === 'GET' && changes ? [] : operation.parameters
  const parameters = [...own, ...(tag === 'control' ? [] : COMMON_PARAMETERS)]
  const hasForm = method === 'POST' && tag !== 'control'
  return {
    operationId: route.idOf(method),
    summary,
    ...(since === undefined ? {} : { description: `Since version ${since}.` }),
    tags: [tag],
    parameters: [...pathParameters(path), ...(hasForm ? [] : parameters.map(inQuery))],
    ...(hasForm ? { requestBody: form(parameters, operation) } : {}),
    ...(operation.body
      ? {
          requestBody: {
            required: true,
            content: { 'application/json': { schema: toJsonSchema(operation.body) } },
          },
        }
      : {}),
    responses: route.responsesOf(errors),
  }
}

/** The parameters in braces in a path. */
const pathParameters = (path: string): object[] =>
  [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string' },
  }))

const inQuery = ({ name, description, required, schema }: ParameterDescription): object => ({
  name,
  in: 'query',
  required,
  description,
  schema,
})

/** A form that can be URL-encoded, unless it has files. */
function form(parameters: readonly ParameterDescription[], { files = [] }: OperationDescription): object {
  const schema = {
    type: 'object',
    properties: Object.fromEntries([
      ...parameters.map(({ name, description, schema }) => [name, { ...schema, description }]),
      ...files.map((name) => [name, { type: 'string', contentMediaType: 'application/octet-stream' }]),
    ]),
    required: [...parameters.filter(({ required }) => required).map(({ name }) => name), ...files],
  }
  return {
    required: schema.required.length > 0,
    content: {
      ...(files.length === 0 ? { 'application/x-www-form-urlencoded': { schema } } : {}),
      'multipart/form-data': { schema },
    },
  }
}

import type { ControlOperation } from '../control/operation.ts'
import type { ResolvedOptions } from '../options.ts'
import { adminPaths } from './admin-paths.ts'
import { controlPaths } from './control-paths.ts'
import { featurePaths } from './feature-paths.ts'
import { SCHEMAS } from './schemas.ts'

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
export function openApiDocument(operations: readonly ControlOperation[], options: ResolvedOptions): object {
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
    paths: { ...adminPaths(options), ...featurePaths(), ...controlPaths(operations) },
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

import type { ControlOperation } from '../control/operation.ts'
import type { Options } from '../options.ts'
import { administrationPaths } from './admin-paths.ts'
import { controlPaths } from './control-paths.ts'
import { SCHEMAS } from './schemas.ts'

const SECURITY = {
  bearer: { type: 'http', scheme: 'bearer' },
  esri: {
    type: 'apiKey',
    in: 'header',
    name: 'X-Esri-Authorization',
    description: 'Bearer, and the token',
  },
}

/** The OpenAPI document of a mock service, as it is configured: what its version does not have is not in it. */
export function openApiDocument(operations: readonly ControlOperation[], options: Options): object {
  const { version, auth } = options
  return {
    openapi: '3.1.0',
    info: {
      title: 'geohook mock service',
      version,
      description:
        'Administration of the webhooks of geoprocessing and feature services, and a control API for tests under /_mock.',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: '/' }],
    tags: [
      { name: 'administration', description: 'What the service does' },
      { name: 'control', description: 'What only a mock does' },
    ],
    // In the form or the query it is a parameter of each operation.
    security: auth ? [{ bearer: [] }, { esri: [] }, {}] : [],
    paths: { ...administrationPaths(options), ...controlPaths(operations) },
    components: {
      ...(auth ? { securitySchemes: SECURITY } : {}),
      schemas: SCHEMAS,
      responses: {
        Error: {
          description:
            'What is wrong; the HTTP status is the code, or 200 where the service is so configured',
          content: {
            'application/json': { schema: { $ref: '#/components/schemas/Error' } },
            'text/html': { schema: { type: 'string' } },
          },
        },
      },
    },
  }
}

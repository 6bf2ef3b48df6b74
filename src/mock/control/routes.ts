import { type ErrorRequestHandler, type RequestHandler, Router } from 'express'
import { refuseOtherOrigins } from '../http/browser-guard.ts'
import { AdminError } from '../http/errors.ts'
import { openApiDocument } from '../openapi/document.ts'
import type { Mock } from '../service.ts'
import { readBytes, readJson, readQuery, sendError } from './json.ts'
import type { ControlOperation } from './operation.ts'
import { OPERATIONS } from './operations.ts'

const DESCRIPTION: ControlOperation = {
  method: 'get',
  path: '/openapi.json',
  summary: 'The OpenAPI document of the service',
  responses: { 200: 'OpenApi' },
  run: ({ options }) => openApiDocument(ALL, options),
}

const ALL: readonly ControlOperation[] = [...OPERATIONS, DESCRIPTION]

/** The control API, for tests in any language: it triggers events and shows their deliveries. */
export function controlRouter(mock: Mock): Router {
  const router = Router({ caseSensitive: true, strict: true }).use(guard)
  for (const path of new Set(ALL.map((operation) => operation.path))) {
    const operations = ALL.filter((operation) => operation.path === path)
    const route = router.route(path)
    for (const operation of operations) {
      const { method, body, limit = '1mb' } = operation
      route[method](...(body ? [readBytes(limit)] : []), serve(mock, operation))
    }
    route.all(refuseMethod(operations.map(({ method }) => method.toUpperCase())))
  }
  router.use(() => {
    throw new AdminError(404, 'there is nothing here')
  })
  return router.use(onError)
}

/** Responses contain keys, so they must not be cached. */
const guard: RequestHandler = (req, res, next) => {
  refuseOtherOrigins(req.headers)
  res.set({ 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' })
  next()
}

const serve =
  (mock: Mock, { query = {}, body, run }: ControlOperation): RequestHandler<{ id?: string }> =>
  async (req, res) => {
    const request = {
      id: req.params.id ?? '',
      query: readQuery(req, Object.keys(query)),
      body: body ? readJson(req) : undefined,
    }
    const json = await run(mock, request, res)
    if (json !== undefined) res.json(json)
  }

const refuseMethod =
  (methods: string[]): RequestHandler =>
  (_req, res) => {
    const allowed = methods.flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method]))
    res.set('allow', allowed.join(', '))
    throw new AdminError(405, `use ${allowed.join(' or ')}`)
  }

const onError: ErrorRequestHandler = (error, _req, res, _next) => sendError(res, error)

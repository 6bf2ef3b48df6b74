import { type ErrorRequestHandler, type RequestHandler, Router } from 'express'
import { refuseOtherSites } from '../administration/access.ts'
import { AdminError } from '../administration/errors.ts'
import type { Core } from '../core.ts'
import { openApiDocument } from '../openapi/document.ts'
import { answerError, readBytes, readJson, readQuery } from './json.ts'
import type { ControlOperation } from './operation.ts'
import { OPERATIONS } from './operations.ts'

const DESCRIPTION: ControlOperation = {
  method: 'get',
  path: '/openapi.json',
  summary: 'The description of everything that the service answers',
  answers: { 200: 'OpenApi' },
  run: ({ options }) => openApiDocument(ALL, options),
}

const ALL: readonly ControlOperation[] = [...OPERATIONS, DESCRIPTION]

/** The control API, for tests in any language: it lets things happen, and shows what came of them. */
export function control(core: Core): Router {
  const router = Router({ caseSensitive: true, strict: true })
  for (const path of new Set(ALL.map((operation) => operation.path))) {
    const operations = ALL.filter((operation) => operation.path === path)
    const route = router.route(path)
    for (const operation of operations) route[operation.method](readBytes, serve(core, operation))
    route.all(refuseMethod(operations.map(({ method }) => method.toUpperCase())))
  }
  router.use(() => {
    throw new AdminError(404, 'there is nothing here')
  })
  return router.use(onError)
}

const serve =
  (core: Core, { query = {}, run }: ControlOperation): RequestHandler<{ id?: string }> =>
  async (req, res) => {
    refuseOtherSites(req.headers)
    const request = {
      id: req.params.id ?? '',
      query: readQuery(req, Object.keys(query)),
      body: readJson(req),
    }
    const answer = await run(core, request, res)
    if (answer !== undefined) res.json(answer)
  }

const refuseMethod =
  (methods: string[]): RequestHandler =>
  (_req, res) => {
    res.set('allow', methods.join(', '))
    throw new AdminError(405, `use ${methods.join(' or ')}`)
  }

const onError: ErrorRequestHandler = (error, _req, res, _next) => answerError(res, error)

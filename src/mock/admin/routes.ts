import { type Request, Router } from 'express'
import { refuseOtherOrigins } from '../http/browser-guard.ts'
import { AdminError, needsToken, toAdminError, toErrorBody, waitForSave } from '../http/errors.ts'
import { rootOf, sendBody } from '../http/response.ts'
import { identify } from './authorize.ts'
import type { Context } from './operation.ts'
import { createMatcher, routesOf } from './operations.ts'
import { readMethod, readRequest, splitUrl } from './read-request.ts'
import { initialFormat } from './response-format.ts'
import { type ErrorOptions, errorsOf, toKnownPath } from './rest-paths.ts'
import { runOperation } from './run-operation.ts'

/** Handles the administration of webhooks (docs/specification.md, "Endpoints"), and responds with 404 to unknown paths. */
export function adminHandler(context: Context, hasInspector: boolean): Router {
  const match = createMatcher(routesOf(context.options))

  return Router().use(async (req, res) => {
    const { path: requested, query } = splitUrl(req.url)
    const path = toKnownPath(requested)
    const format = { current: initialFormat(req, query) }
    const panel = hasInspector ? `${rootOf(requested)}webhooks` : undefined
    try {
      refuseOtherOrigins(req.headers)
      const found = match(path)
      if (!found) throw new AdminError(404, 'there is nothing here')
      const method = readMethod(req, res, found.operation)
      const parameters = await readRequest(req, res, format, method, query)
      const call = { context, method, parameters, origin: originOf(req) }
      const { body, changed } = await runOperation(found, call, () =>
        identify(context, parameters, req.headers),
      )
      if (changed) await waitForSave(context.save)
      sendBody(res, format.current, body, { panel })
    } catch (thrown) {
      const error = toAdminError(thrown)
      const errors = errorsOf(path, context.options)
      const body = toErrorBody(error, errors.errorFormat)
      sendBody(res, format.current, body, { status: httpStatusOf(error, errors), panel })
    }
  })
}

/** In the format `error`, clients recognize 498 and 499 only if the HTTP status is 200. */
function httpStatusOf(error: AdminError, { errorFormat, httpStatus }: ErrorOptions): number {
  if (httpStatus === 'always200' || (errorFormat === 'error' && needsToken(error))) return 200
  return error.status
}

/** Scheme and host as the client sees them. */
const originOf = ({ protocol, headers: { host = 'localhost' } }: Request): string => `${protocol}://${host}`

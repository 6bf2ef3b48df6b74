import { type Request, Router } from 'express'
import { refuseOtherOrigins } from '../http/browser-guard.ts'
import { AdminError, waitForSave } from '../http/errors.ts'
import { has } from '../versions.ts'
import { identify } from './authorize.ts'
import type { Context } from './operation.ts'
import { createMatcher, routesOf } from './operations.ts'
import { readMethod, readRequest, splitUrl } from './read-request.ts'
import { createAdminResponse, type Submitted } from './response.ts'
import { errorsOf, toKnownPath } from './rest-paths.ts'
import { runOperation } from './run-operation.ts'

/** Handles the administration of webhooks (docs/specification.md, "Endpoints"), and responds with 404 to unknown paths. */
export function adminHandler(context: Context, hasInspector: boolean): Router {
  const { version, auth, omitted } = context.options
  const match = createMatcher(routesOf(context.options))
  const site = {
    version,
    omitted,
    hasTokens: auth !== undefined,
    hasSiteList: has(version, 'failures'),
    hasInspector,
  }

  return Router().use(async (req, res) => {
    const { path: requested, query } = splitUrl(req.url)
    const path = toKnownPath(requested)
    const errors = errorsOf(path, context.options)
    const response = createAdminResponse(req, res, { path, query, site, errors })
    let submitted: Submitted | undefined
    try {
      refuseOtherOrigins(req.headers)
      const found = match(path)
      if (!found) throw new AdminError(404, 'there is nothing here')
      const { address, id, operation } = found
      const method = readMethod(req, res, operation)
      const parameters = await readRequest(req, res, response, method, query)
      if (method === 'POST') submitted = { address, id, operation: operation.name, parameters }
      if (submitted && response.ask(submitted)) return
      const call = { context, method, parameters, origin: originOf(req) }
      const { body, changed } = await runOperation(found, call, () =>
        identify(context, parameters, req.headers),
      )
      if (changed) await waitForSave(context.save)
      response.send({ address, id, response: operation.response, body })
    } catch (error) {
      response.fail(error, submitted)
    }
  })
}

/** Scheme and host as the client sees them. */
const originOf = ({ protocol, headers: { host = 'localhost' } }: Request): string => `${protocol}://${host}`

import { Router } from 'express'
import { refuseOtherOrigins } from '../http/browser-guard.ts'
import { AdminError, waitForSave } from '../http/errors.ts'
import { servicePath } from '../state/services.ts'
import { has } from '../versions.ts'
import { identify, requirePrivileges } from './authorize.ts'
import type { Call, Context, OperationResult } from './operation.ts'
import { createMatcher, type Match, operationsOf } from './operations.ts'
import { type Address, parsePath } from './paths.ts'
import { readMethod, readRequest, splitUrl } from './read-request.ts'
import { createAdminResponse } from './response.ts'

/** Handles the administration of webhooks (docs/specification.md, "Endpoints"), and responds with 404 to unknown paths. */
export function adminHandler(context: Context): Router {
  const { version, auth, omitted, httpStatus } = context.options
  const match = createMatcher(operationsOf(version, auth?.generateToken !== undefined))
  const site = { version, omitted, hasTokens: auth !== undefined, hasSiteList: has(version, 'failures') }

  return Router().use(async (req, res) => {
    const { path, query } = splitUrl(req.url)
    const response = createAdminResponse(req, res, { path, query, site, httpStatus })
    try {
      refuseOtherOrigins(req.headers)
      const address = parsePath(path)
      const found = address && match(address)
      if (!found) throw new AdminError(404, 'there is nothing here')
      const method = readMethod(req, res, found.operation)
      const parameters = await readRequest(req, res, response, method, query)
      const call = { context, method, parameters }
      const { body, changed } = await run(found, address, call, () =>
        identify(context, parameters, req.headers),
      )
      if (changed) await waitForSave(context.save)
      response.send({ address, id: found.id, response: found.operation.response, body })
    } catch (error) {
      response.fail(error)
    }
  })
}

/** Checks the user first, so that unauthorized users do not learn which services and webhooks exist. */
async function run(
  { operation, id = '' }: Match,
  address: Address,
  anonymous: Omit<Call, 'user'>,
  identifyUser: () => Promise<Call['user']>,
): Promise<OperationResult> {
  if (operation.scope === 'root') return operation.run(anonymous)
  const user = await identifyUser()
  requirePrivileges(user, address)
  const call = { ...anonymous, user }
  if (operation.scope === 'site') return operation.run(call)
  const path = address.scope === 'service' ? address.service : ''
  const { services, webhooks } = call.context.state
  const service = services.find(path)
  if (!service) throw new AdminError(404, 'the service does not exist')
  if (operation.scope === 'service') return operation.run({ ...call, service })
  const webhook = webhooks.get(id)
  if (!webhook || servicePath(webhook) !== path) throw new AdminError(404, 'the webhook does not exist')
  return operation.run({ ...call, webhook })
}

import { Router } from 'express'
import { refuseOtherSites } from '../http/browser-guard.ts'
import { AdminError } from '../http/errors.ts'
import { saved } from '../http/saved.ts'
import { servicePath } from '../state/services.ts'
import { has } from '../versions.ts'
import { identify, requirePrivileges } from './authorize.ts'
import type { Context } from './context.ts'
import type { Call, Outcome } from './operation.ts'
import { createMatcher, type Match, operationsOf } from './operations.ts'
import { type Address, parsePath } from './paths.ts'
import { readMethod, readRequest, splitUrl } from './read-request.ts'
import { createReply } from './response.ts'

/** The administration of webhooks: every operation of the table, and 404 for all else (specification, "Endpoints"). */
export function administration(context: Context): Router {
  const { version, auth, omitted, httpStatus } = context.options
  const match = createMatcher(operationsOf(version, auth?.generateToken !== undefined))
  const site = { version, omitted, hasTokens: auth !== undefined, hasList: has(version, 'failures') }

  return Router().use(async (req, res) => {
    const { path, query } = splitUrl(req.url)
    const reply = createReply(req, res, { path, query, site, httpStatus })
    try {
      refuseOtherSites(req.headers)
      const address = parsePath(path)
      const found = address && match(address)
      if (!found) throw new AdminError(404, 'there is nothing here')
      const method = readMethod(req, res, found.operation)
      const parameters = await readRequest(req, res, reply, method, query)
      const call = { context, method, parameters }
      const { body, changed } = await run(found, address, call, () =>
        identify(context, parameters, req.headers),
      )
      if (changed) await saved(context.save)
      reply.send({ address, id: found.id, response: found.operation.response, body })
    } catch (error) {
      reply.fail(error)
    }
  })
}

/** Who may act is asked before what there is to act on: a stranger learns nothing of what exists. */
async function run(
  { operation, id = '' }: Match,
  address: Address,
  anonymous: Omit<Call, 'user'>,
  identifyUser: () => Promise<Call['user']>,
): Promise<Outcome> {
  if (operation.scope === 'root') return operation.run(anonymous)
  const user = await identifyUser()
  requirePrivileges(user, address)
  const call = { ...anonymous, user }
  if (operation.scope === 'site') return operation.run(call)
  const path = address.scope === 'service' ? address.service : ''
  const { services, webhooks } = call.context.state
  const service = services.find(path)
  if (!service) throw new AdminError(404, 'there is no such service')
  if (operation.scope === 'service') return operation.run({ ...call, service })
  const webhook = webhooks.get(id)
  if (!webhook || servicePath(webhook) !== path) throw new AdminError(404, 'there is no such webhook')
  return operation.run({ ...call, webhook })
}

import { AdminError, needsToken, toErrorBody, waitForSave } from '../http/errors.ts'
import type { PathNames } from '../http/operation.ts'
import { originOf } from '../http/request.ts'
import { createHandler, createMatcher, type Handler } from '../http/router.ts'
import { servicePath } from '../state/services.ts'
import {
  ANONYMOUS,
  type Call,
  type Context,
  identify,
  type Operation,
  type OperationResult,
  requirePrivileges,
} from './operation.ts'
import { routesOf } from './operations.ts'
import { errorsOf, toAddressedService, toKnownPath } from './paths.ts'

/** Handles the administration of webhooks (docs/specification.md, "Endpoints"), and responds with 404 to unknown paths. */
export function adminHandler(context: Context, hasInspector: boolean): Handler {
  const handler = createHandler<Operation>({
    routes: routesOf(context.options),
    toPath: toKnownPath,
    limitOf: () => 1,
    panel: hasInspector ? 'webhooks' : undefined,
    async run({ req, operation, method, names, parameters }) {
      const call = { context, method, parameters, origin: originOf(req) }
      const { body, changed } = await runOperation(operation, names, call, () =>
        identify(context, parameters, req.headers),
      )
      if (changed) await waitForSave(context.save)
      return { body }
    },
    toFailure(error, path) {
      const { errorFormat, httpStatus } = errorsOf(path, context.options)
      // In the format `error`, clients recognize 498 and 499 only if the HTTP status is 200.
      const isHidden = httpStatus === 'always200' || (errorFormat === 'error' && needsToken(error))
      return { status: isHidden ? 200 : error.status, body: toErrorBody(error, errorFormat) }
    },
  })
  return (req, res) => handler(req, res)
}

/**
 * Runs an operation. Checks the user first, so that unauthorized users do not learn which services and webhooks exist.
 *
 * @throws {AdminError}
 */
export async function runOperation(
  operation: Operation,
  names: PathNames,
  anonymous: Omit<Call, 'user'>,
  identify: () => Promise<Call['user']>,
): Promise<OperationResult> {
  if (operation.scope === 'root') return operation.run({ ...anonymous, names, identify })
  const user = await identify()
  const addressed = toAddressedService(names)
  requirePrivileges(user, addressed?.serviceType)
  const call = { ...anonymous, user }
  if (operation.scope === 'site') return operation.run(call)
  const { services, webhooks } = call.context.state
  const { path = '', serviceType } = addressed ?? {}
  const service = serviceType === 'Portal' ? services.portal() : services.find(path)
  if (!service) throw new AdminError(404, 'the service does not exist')
  if (operation.scope === 'service') return operation.run({ ...call, service })
  const webhook = webhooks.get(names.webhookId ?? '')
  if (!webhook || servicePath(webhook) !== servicePath(service))
    throw new AdminError(404, 'the webhook does not exist')
  return operation.run({ ...call, webhook })
}

/** Runs an operation that changes the state, and saves the change. Absent and empty values are left out. */
export type Administer = (
  path: string,
  values: Readonly<Record<string, string | undefined>>,
) => Promise<object>

/**
 * Returns a function that runs operations as a POST request would, for a user with every privilege. It throws the same
 * errors.
 */
export function createAdminister(context: Context): Administer {
  const match = createMatcher(routesOf({ ...context.options, auth: undefined }))
  return async (path, values) => {
    const found = match(path)
    const operation = found?.routes[0]?.operation
    if (!found || !operation) throw new AdminError(404, 'there is nothing here')
    const parameters = new Map(
      Object.entries(values).flatMap(([name, value]) => (value === undefined ? [] : [[name, [value]]])),
    )
    const call = { context, method: 'POST', parameters, origin: '' } as const
    const { body, changed } = await runOperation(operation, found.names, call, async () => ANONYMOUS)
    if (changed) await waitForSave(context.save)
    return body
  }
}

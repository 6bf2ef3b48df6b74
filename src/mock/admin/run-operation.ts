import { AdminError, waitForSave } from '../http/errors.ts'
import { servicePath } from '../state/services.ts'
import { ANONYMOUS, requirePrivileges } from './authorize.ts'
import type { Call, Context, OperationResult } from './operation.ts'
import { createMatcher, type Match, routesOf } from './operations.ts'

/**
 * Runs an operation. Checks the user first, so that unauthorized users do not learn which services and webhooks exist.
 *
 * @throws {AdminError}
 */
export async function runOperation(
  { operation, address, names, id = '' }: Match,
  anonymous: Omit<Call, 'user'>,
  identify: () => Promise<Call['user']>,
): Promise<OperationResult> {
  if (operation.scope === 'root') return operation.run({ ...anonymous, names, identify })
  const user = await identify()
  requirePrivileges(user, address.service?.serviceType)
  const call = { ...anonymous, user }
  if (operation.scope === 'site') return operation.run(call)
  const { services, webhooks } = call.context.state
  const { path = '', serviceType } = address.service ?? {}
  const service = serviceType === 'Portal' ? services.portal() : services.find(path)
  if (!service) throw new AdminError(404, 'the service does not exist')
  if (operation.scope === 'service') return operation.run({ ...call, service })
  const webhook = webhooks.get(id)
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
    if (!found) throw new AdminError(404, 'there is nothing here')
    const parameters = new Map(
      Object.entries(values).flatMap(([name, value]) => (value === undefined ? [] : [[name, [value]]])),
    )
    const call = { context, method: 'POST', parameters, origin: '' } as const
    const { body, changed } = await runOperation(found, call, async () => ANONYMOUS)
    if (changed) await waitForSave(context.save)
    return body
  }
}

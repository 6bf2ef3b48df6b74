import { AdminError, needsToken, toErrorBody, waitForSave } from '../http/errors.ts'
import type { PathNames } from '../http/operation.ts'
import { originOf, splitUrl } from '../http/request.ts'
import { createHandler, type Handler, sendSignIn } from '../http/router.ts'
import { type Service, servicePath } from '../state/services.ts'
import type { Webhook } from '../state/webhooks.ts'
import { findByNumber } from './hosted.ts'
import {
  ANONYMOUS,
  type Call,
  type Context,
  identify,
  type Operation,
  requirePrivileges,
} from './operation.ts'
import { errorsOf, routesOf, toAddressedService, toKnownPath } from './operations.ts'
import { createPortalWebhook, updatePortalWebhook } from './portal/operations.ts'
import { hideKeys, showsWebhooks, withFaults } from './shown.ts'
import { createWebhook, editWebhook, settings, switchWebhook } from './webhook-operations.ts'

/**
 * Handles the administration of webhooks (docs/specification.md, "Endpoints"). Responds with 404 to unknown paths, unless
 * there is a next handler.
 */
export function adminHandler(context: Context, hasInspector: boolean): Handler {
  return createHandler<Operation>({
    routes: routesOf(context.options),
    toPath: toKnownPath,
    limitOf: () => 1,
    panel: hasInspector ? 'webhooks' : undefined,
    async run({ req, operation, method, names, parameters }) {
      const { faults, holdAnswer } = context.engine
      const isChange = operation.changes && method === 'POST'
      const fault = isChange ? faults.takeAny(...REQUEST_FAULTS) : undefined
      if (fault?.fault === 'admin_token_expired') throw new AdminError(498, 'Invalid token.')
      if (fault?.fault === 'admin_html_answer') return { send: sendSignIn }
      const call = { context, method, parameters, origin: originOf(req), takeFault: faults.takeAny }
      const needsForm = method === 'POST' && operation.scope !== 'root' && needsTokenInForm(context, req.url)
      const body = await runOperation(operation, names, call, () =>
        identify(context, parameters, needsForm ? {} : req.headers),
      )
      if (isChange) await waitForSave(context.save)
      if (fault?.fault === 'admin_slow') await holdAnswer(fault.delay ?? SLOW_MS)
      if (fault?.fault === 'admin_answer_lost') return { send: (res) => void res.destroy() }
      if (!showsWebhooks(operation)) return { body }
      return { body: withFaults(hideKeys(body, context.options.keys), faults) }
    },
    toFailure(error, path) {
      const { errorFormat, httpStatus } = errorsOf(path, context.options)
      // In the format `error`, clients recognize 498 and 499 only if the HTTP status is 200.
      const isHidden = httpStatus === 'always200' || (errorFormat === 'error' && needsToken(error))
      return { status: isHidden ? 200 : error.status, body: toErrorBody(error, errorFormat) }
    },
  })
}

/** Faults of a request that changes something. */
const REQUEST_FAULTS = [
  'admin_slow',
  'admin_answer_lost',
  'admin_token_expired',
  'admin_html_answer',
] as const

const SLOW_MS = 5_000

/** Enterprise requires the token in the body of every POST request to the administrator directory (docs/senders.md). */
function needsTokenInForm({ options: { tokenInForm, product } }: Context, url = ''): boolean {
  return tokenInForm ?? (product === 'enterprise' && splitUrl(url).path.startsWith('/admin/'))
}

/**
 * Runs an operation. Checks the user first, so that unauthorized users do not learn which services and webhooks exist.
 */
export async function runOperation(
  operation: Operation,
  names: PathNames,
  anonymous: Omit<Call, 'user'>,
  identify: () => Promise<Call['user']>,
): Promise<object> {
  if (operation.scope === 'root') return operation.run({ ...anonymous, names, identify })
  const user = await identify()
  const addressed = toAddressedService(names)
  requirePrivileges(user, addressed?.serviceType)
  const call = { ...anonymous, user }
  if (operation.scope === 'site') return operation.run(call)
  const { services, webhooks } = call.context.state
  const { webhookId = '', serviceName, service: serverService, portalId } = names
  const { path = '', serviceType } = addressed ?? {}
  // The paths of hosted services name a webhook with its service, or alone.
  const isHosted = serverService === undefined && portalId === undefined
  const isAlone = isHosted && serviceName === undefined
  const service = serviceType === 'Portal' ? services.portal() : services.find(path)
  if (!service && !isAlone) throw new AdminError(404, 'the service does not exist')
  if (operation.scope === 'service') return operation.run({ ...call, service: service as Service })
  const webhook =
    webhooks.get(webhookId) ?? (isHosted ? findByNumber(webhooks.list(service), webhookId) : undefined)
  const isAddressed = service
    ? webhook && servicePath(webhook) === servicePath(service)
    : webhook?.serviceType === 'FeatureServer'
  if (!webhook || !isAddressed) throw new AdminError(404, 'the webhook does not exist')
  return operation.run({ ...call, webhook })
}

/** Values of parameters, by name. Absent and empty ones are left out. */
export type Values = Readonly<Record<string, string | undefined>>

/** The arguments of a POST request of a user with every privilege. */
const toCall = (context: Context, values: Values): Call => ({
  context,
  user: ANONYMOUS,
  method: 'POST',
  parameters: new Map(
    Object.entries(values).flatMap(([name, value]) => (value === undefined ? [] : [[name, [value]]])),
  ),
  origin: '',
})

// These functions run operations as POST requests would, and throw the same errors. They do not save the change. The
// webhooks of a portal have parameters of their own.

export async function create(context: Context, service: Service, values: Values): Promise<Readonly<Webhook>> {
  const { state } = context
  const isPortal = service.serviceType === 'Portal'
  const { run } = isPortal ? createPortalWebhook : createWebhook
  const { id } = (await run({ ...toCall(context, values), service })) as { id: string }
  const webhook = state.webhooks.get(id) as Webhook
  if (isPortal && values.active === 'false') switchWebhook(state, webhook, false, ANONYMOUS.username)
  return state.webhooks.get(id) as Webhook
}

export async function edit(
  context: Context,
  webhook: Readonly<Webhook>,
  values: Values,
): Promise<Readonly<Webhook>> {
  const { state } = context
  const isPortal = webhook.serviceType === 'Portal'
  const { run } = isPortal ? updatePortalWebhook : editWebhook
  await run({ ...toCall(context, values), webhook })
  if (isPortal && values.active !== undefined)
    switchWebhook(state, webhook, values.active === 'true', ANONYMOUS.username)
  return state.webhooks.get(webhook.id) as Webhook
}

export async function changeSettings(context: Context, values: Values): Promise<void> {
  await settings.run(toCall(context, values))
}

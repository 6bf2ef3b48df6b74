import type { DeliverySettings } from '../delivery-settings.ts'
import { AdminError } from '../http/errors.ts'
import { READ_METHODS } from '../http/operation.ts'
import { readAll } from '../http/request.ts'
import type { State } from '../state/snapshot.ts'
import {
  shownSchedule,
  toWebhook,
  type Webhook,
  type WebhookChanges,
  type WebhookSeed,
} from '../state/webhooks.ts'
import { SETTINGS_PARAMETERS } from './fields.ts'
import {
  type Call,
  CHANGE,
  type Context,
  ignoreMember,
  READ,
  requireAnswered,
  type ServiceOperation,
  type SiteOperation,
  type WebhookOperation,
} from './operation.ts'
import { readChanges, requireFreeName, webhookParameters } from './parameters.ts'

/** A webhook in responses of create, read and edit: the fields in the specification's order. */
const toWebhookJson = (webhook: Readonly<Webhook>, { options }: Context): Webhook => ({
  ...webhook,
  scheduleInfo: shownSchedule(webhook, options.window),
})

/** Webhooks in lists, with `changeTypes` at the end (docs/senders.md, "Administration"). */
export const toListJson = (
  webhooks: readonly Readonly<Webhook>[],
  context: Context,
): { webhooks: Webhook[] } => ({
  webhooks: webhooks.map((webhook) => {
    const { changeTypes, ...others } = toWebhookJson(webhook, context)
    return { ...others, changeTypes }
  }),
})

export const SUCCESS = { status: 'success' } as const

export function removeWebhook({ webhooks, failures }: State, id: string): void {
  webhooks.delete(id)
  failures.delete(id)
}

/** Windows of services that raise short intervals. */
const RAISED = 60_000

function readCall(
  { context: { options }, parameters, takeFault }: Call,
  operation: 'create' | 'edit',
  serviceType: Webhook['serviceType'],
): WebhookChanges {
  const isRaised = parameters.has('scheduleInfo') && takeFault?.('interval_raised') !== undefined
  const window = isRaised ? { ...options.window, minimum: RAISED } : options.window
  return readChanges(parameters, { ...options, operation, serviceType, window })
}

/** Other requests may take the name or delete the webhook in the meantime. */
const requireReachable = ({ engine }: Context, webhook: Readonly<Webhook>): Promise<void> =>
  requireAnswered(engine.checkUrl(webhook), 'hookUrl must answer a status request')

export const editWebhook: WebhookOperation = {
  name: 'edit',
  scope: 'webhook',
  summary: 'Edit a webhook. The edit applies to the next delivery.',
  ...CHANGE,
  parameters: webhookParameters('edit'),
  response: 'Webhook',
  async run({ webhook, ...call }) {
    const { context, user } = call
    const { webhooks, failures } = context.state
    const { id, serviceType, hookUrl } = webhook
    const changes = ignoreMember(call, readCall(call, 'edit', serviceType), webhook)
    requireFreeName(context, webhook, changes.name, id)
    if (context.options.creationCheck && changes.hookUrl !== hookUrl) {
      await requireReachable(context, { ...webhook, ...changes } as Webhook)
      requireFreeName(context, webhook, changes.name, id)
    }
    const edited = webhooks.edit(id, changes, user.username, context.options.omitted)
    if (!edited) throw new AdminError(404, 'the webhook does not exist')
    if (edited.active && !webhook.active) failures.delete(id)
    return { ...toWebhookJson(edited, context), ...SUCCESS }
  },
}

export const WEBHOOK_OPERATIONS: readonly WebhookOperation[] = [
  {
    name: 'read',
    scope: 'webhook',
    segment: '',
    summary: 'Read a webhook.',
    ...READ,
    response: 'Webhook',
    run: ({ context, webhook }) => toWebhookJson(webhook, context),
  },
  editWebhook,
  {
    name: 'delete',
    scope: 'webhook',
    summary: 'Delete a webhook permanently.',
    ...CHANGE,
    response: 'Status',
    run({ context, webhook }) {
      removeWebhook(context.state, webhook.id)
      return SUCCESS
    },
  },
  {
    name: 'notificationStatus',
    scope: 'webhook',
    summary: 'List the failed deliveries of a webhook.',
    ...READ,
    since: '11.2',
    response: 'NotificationStatus',
    run({ context, webhook }) {
      const times = context.state.failures.get(webhook.id) ?? []
      return {
        webhookNotificationStatus: times.map((invokedTimestamp) => ({ invoked: false, invokedTimestamp })),
      }
    },
  },
]

export const createWebhook: ServiceOperation = {
  name: 'create',
  scope: 'service',
  summary: 'Create a webhook.',
  ...CHANGE,
  parameters: webhookParameters('create'),
  response: 'Webhook',
  async run({ service, ...call }) {
    const { context, user } = call
    const { state, options } = context
    const changes = readCall(call, 'create', service.serviceType)
    requireFreeName(context, service, changes.name)
    const given = { active: options.defaultActive, ...changes, ownerId: user.username }
    const seed = { ...given, ...service } as WebhookSeed
    if (options.creationCheck) {
      await requireReachable(context, toWebhook(seed, options))
      requireFreeName(context, service, changes.name)
    }
    const webhook = state.webhooks.create(seed)
    return { ...toWebhookJson(webhook, context), ...SUCCESS }
  },
}

/**
 * Activates or deactivates a webhook. If nothing changes, it keeps its `modified`. An activation resets its failures, and
 * repeats a handshake that failed.
 */
export function switchWebhook(
  { webhooks, failures, handshakes }: State,
  { id, active: wasActive }: Readonly<Webhook>,
  active: boolean,
  username: string,
): void {
  const isStopped = active && handshakes.get(id)?.reason !== undefined
  if (wasActive !== active || isStopped) webhooks.edit(id, { active }, username)
  if (active) failures.delete(id)
}

const switchAll = (name: string, active: boolean, summary: string): ServiceOperation => ({
  name,
  scope: 'service',
  summary,
  ...CHANGE,
  response: 'Status',
  run({ context: { state }, user, service }) {
    for (const webhook of state.webhooks.list(service)) switchWebhook(state, webhook, active, user.username)
    return SUCCESS
  },
})

export const SERVICE_OPERATIONS: readonly ServiceOperation[] = [
  {
    name: 'list',
    scope: 'service',
    segment: '',
    summary: 'List the webhooks of a service.',
    ...READ,
    response: 'Webhooks',
    run: ({ context, service }) => toListJson(context.state.webhooks.list(service), context),
  },
  createWebhook,
  {
    name: 'deleteAll',
    scope: 'service',
    summary: 'Delete all webhooks of a service permanently.',
    ...CHANGE,
    response: 'Status',
    run({ context: { state }, service }) {
      for (const { id } of state.webhooks.list(service)) removeWebhook(state, id)
      return SUCCESS
    },
  },
  switchAll('activateAll', true, 'Switch all webhooks of a service on, and forget their failures.'),
  switchAll('deactivateAll', false, 'Switch all webhooks of a service off.'),
]

export const settings: SiteOperation = {
  name: 'settings',
  scope: 'site',
  summary: 'Read the delivery settings; with parameters, change them.',
  ...CHANGE,
  methods: READ_METHODS,
  since: '11.2',
  parameters: SETTINGS_PARAMETERS,
  response: 'Settings',
  run({ context: { state }, method, parameters }) {
    const changes: Partial<DeliverySettings> = readAll(parameters, SETTINGS_PARAMETERS)
    if (Object.keys(changes).length === 0) return state.settings
    if (method !== 'POST') throw new AdminError(400, 'use POST to change settings')
    state.settings = { ...state.settings, ...changes }
    return { ...state.settings, ...SUCCESS }
  },
}

export const SITE_OPERATIONS: readonly SiteOperation[] = [
  {
    name: 'listSite',
    scope: 'site',
    segment: '',
    summary: 'List all webhooks of all services.',
    ...READ,
    since: '11.2',
    response: 'Webhooks',
    run({ context }) {
      const webhooks = context.state.webhooks.list().filter(({ serviceType }) => serviceType !== 'Portal')
      return toListJson(webhooks, context)
    },
  },
  settings,
]

import { randomUUID } from 'node:crypto'
import type { DeliverySettings } from '../../delivery-settings.ts'
import { AdminError } from '../../http/errors.ts'
import { CHANGE_METHODS, READ_METHODS } from '../../http/operation.ts'
import type { Service } from '../../state/services.ts'
import { toWebhook, type Webhook } from '../../state/webhooks.ts'
import { boundsOf, settingsParameters } from '../fields.ts'
import {
  type Context,
  changed,
  type ServiceOperation,
  unchanged,
  type WebhookOperation,
} from '../operation.ts'
import { readEach, requireFreeName, wholeNumber } from '../parameters.ts'
import {
  isSuccess,
  PAGING,
  pageOf,
  portalParameters,
  readPortalChanges,
  toNotification,
  toPortalWebhook,
} from './webhooks.ts'

export const SUCCESS = { success: true } as const

/**
 * Announces a webhook, and requires a response with a 2xx status.
 *
 * @throws {AdminError} 400
 */
async function requireRegistered(context: Context, webhook: Readonly<Webhook>): Promise<void> {
  const { answer, error = 'it gave no response' } = await context.register(webhook)
  if (answer && isSuccess(answer)) return
  const reason = answer ? `it answered ${answer.status}` : error
  throw new AdminError(400, `url must accept a registration with a 2xx status: ${reason}`)
}

const listWebhooks: ServiceOperation = {
  name: 'listWebhooks',
  scope: 'service',
  segment: '',
  summary: 'List the webhooks of the portal.',
  methods: READ_METHODS,
  since: '11.1',
  changes: false,
  parameters: PAGING,
  response: 'PortalWebhooks',
  run({ context, service, parameters }) {
    const { page, entries } = pageOf(context.state.webhooks.list(service), parameters)
    return unchanged({ ...page, webhooks: entries.map(toPortalWebhook) })
  },
}

export const createPortalWebhook: ServiceOperation = {
  name: 'createWebhook',
  scope: 'service',
  segment: 'createWebhook',
  summary: 'Create a webhook of the portal, and announce it to its URL.',
  methods: CHANGE_METHODS,
  since: '11.1',
  changes: true,
  parameters: portalParameters('create'),
  response: 'PortalStatus',
  async run({ context, user, parameters, service }) {
    const { state, options } = context
    const changes = readPortalChanges(parameters, 'create') as Pick<Webhook, 'name' | 'hookUrl'>
    requireFreeName(context, service, changes.name)
    const webhook = toWebhook(
      { ...changes, ...service, ownerId: user.username, id: newId() },
      options.clock.now(),
      options.window.length,
    )
    await requireRegistered(context, webhook)
    // Another request may have taken the name in the meantime.
    requireFreeName(context, service, webhook.name)
    state.services.add(service as Service)
    const { id } = state.webhooks.create(webhook)
    return changed({ ...SUCCESS, id })
  },
}

/** Ids of a portal have no dashes. */
const newId = (): string => randomUUID().replaceAll('-', '')

const SETTINGS: readonly (keyof DeliverySettings)[] = [
  'notificationAttempts',
  'notificationTimeOutInSeconds',
  'notificationElapsedTimeInSeconds',
]

const readSettings: ServiceOperation = {
  name: 'readSettings',
  scope: 'service',
  segment: 'settings',
  summary: 'Read the delivery settings, which all webhooks of the mock share.',
  methods: READ_METHODS,
  since: '11.1',
  changes: false,
  parameters: [],
  response: 'PortalSettings',
  run: ({ context: { state } }) =>
    unchanged(Object.fromEntries(SETTINGS.map((name) => [name, state.settings[name]]))),
}

const updateSettings: ServiceOperation = {
  ...readSettings,
  name: 'updateSettings',
  segment: 'settings/update',
  summary: 'Change the delivery settings, which all webhooks of the mock share.',
  methods: CHANGE_METHODS,
  changes: true,
  parameters: settingsParameters().filter(({ name }) => (SETTINGS as readonly string[]).includes(name)),
  response: 'PortalStatus',
  run({ context: { state }, parameters }) {
    const changes: Partial<DeliverySettings> = readEach(
      SETTINGS.map((name) => {
        const { minimum, maximum } = boundsOf(name)
        return [name, () => wholeNumber(minimum, maximum)(parameters, name)]
      }),
    )
    state.settings = { ...state.settings, ...changes }
    return changed(SUCCESS)
  },
}

export const PORTAL_SERVICE_OPERATIONS: readonly ServiceOperation[] = [
  listWebhooks,
  createPortalWebhook,
  readSettings,
  updateSettings,
]

const readWebhook: WebhookOperation = {
  name: 'readWebhook',
  scope: 'webhook',
  segment: '',
  summary: 'Read a webhook of the portal.',
  methods: READ_METHODS,
  since: '11.1',
  changes: false,
  parameters: [],
  response: 'PortalWebhook',
  run: ({ webhook }) => unchanged(toPortalWebhook(webhook)),
}

export const updatePortalWebhook: WebhookOperation = {
  name: 'update',
  scope: 'webhook',
  segment: 'update',
  summary: 'Update a webhook of the portal, and announce it to a new URL.',
  methods: CHANGE_METHODS,
  since: '11.1',
  changes: true,
  parameters: portalParameters('update'),
  response: 'PortalStatus',
  async run({ context, user, parameters, webhook }) {
    const changes = readPortalChanges(parameters, 'update')
    requireFreeName(context, webhook, changes.name, webhook.id)
    if (changes.hookUrl !== undefined && changes.hookUrl !== webhook.hookUrl)
      await requireRegistered(context, { ...webhook, ...changes } as Webhook)
    // Other requests may have taken the name or deleted the webhook in the meantime.
    requireFreeName(context, webhook, changes.name, webhook.id)
    if (!context.state.webhooks.edit(webhook.id, changes, user.username))
      throw new AdminError(404, 'the webhook does not exist')
    return changed(SUCCESS)
  },
}

const deleteWebhook: WebhookOperation = {
  name: 'delete',
  scope: 'webhook',
  segment: 'delete',
  summary: 'Delete a webhook of the portal permanently.',
  methods: CHANGE_METHODS,
  since: '11.1',
  changes: true,
  parameters: [],
  response: 'PortalStatus',
  run({ context: { state }, webhook: { id } }) {
    state.webhooks.delete(id)
    state.failures.clear(id)
    return changed(SUCCESS)
  },
}

export const activatePortalWebhook: WebhookOperation = {
  ...deleteWebhook,
  name: 'activate',
  segment: 'activate',
  summary: 'Activate a webhook of the portal, and reset its failures.',
  run({ context: { state }, user, webhook: { id, active } }) {
    if (!active) state.webhooks.edit(id, { active: true }, user.username)
    state.failures.clear(id)
    return changed(SUCCESS)
  },
}

export const deactivatePortalWebhook: WebhookOperation = {
  ...deleteWebhook,
  name: 'deactivate',
  segment: 'deactivate',
  summary: 'Deactivate a webhook of the portal.',
  run({ context: { state }, user, webhook: { id, active } }) {
    if (active) state.webhooks.edit(id, { active: false }, user.username)
    return changed(SUCCESS)
  },
}

const notificationStatus: WebhookOperation = {
  name: 'notificationStatus',
  scope: 'webhook',
  segment: 'notificationStatus',
  summary: 'List the recorded attempts of a webhook of the portal, oldest first.',
  methods: READ_METHODS,
  since: '11.1',
  changes: false,
  parameters: PAGING,
  response: 'PortalNotificationStatus',
  run({ context, webhook, parameters }) {
    const attempts = context.attempts().filter(({ webhookId }) => webhookId === webhook.id)
    const { page, entries } = pageOf(attempts, parameters)
    return unchanged({ ...page, WebhookStatus: entries.map(toNotification) })
  },
}

export const PORTAL_WEBHOOK_OPERATIONS: readonly WebhookOperation[] = [
  readWebhook,
  updatePortalWebhook,
  deleteWebhook,
  activatePortalWebhook,
  deactivatePortalWebhook,
  notificationStatus,
]

import { AdminError } from '../../http/errors.ts'
import type { Webhook } from '../../state/webhook.ts'
import { CHANGE_METHODS, changed, READ_METHODS, unchanged, type WebhookOperation } from '../operation.ts'
import { requireFreeName } from '../webhook-parameters.ts'
import { toNotification, toPortalWebhook } from './json.ts'
import { PAGING, pageOf } from './paging.ts'
import { portalParameters, readPortalChanges } from './parameters.ts'
import { requireRegistered } from './service-operations.ts'

const SUCCESS = { success: true } as const

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

const updateWebhook: WebhookOperation = {
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

const activate: WebhookOperation = {
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

const deactivate: WebhookOperation = {
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
  updateWebhook,
  deleteWebhook,
  activate,
  deactivate,
  notificationStatus,
]

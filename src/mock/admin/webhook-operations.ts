import type { Webhook } from '../state/webhook.ts'
import { CHANGE_METHODS, changed, READ_METHODS, unchanged, type WebhookOperation } from './operation.ts'
import { SUCCESS, toWebhookJson } from './webhook-json.ts'
import { readChanges, requireFreeName, webhookParameters } from './webhook-parameters.ts'

const readWebhook: WebhookOperation = {
  name: 'read',
  scope: 'webhook',
  segment: '',
  summary: 'Read a webhook.',
  methods: READ_METHODS,
  since: '11.1',
  changes: false,
  parameters: [],
  response: 'Webhook',
  run: ({ context, webhook }) => unchanged(toWebhookJson(webhook, context.options)),
}

const editWebhook: WebhookOperation = {
  name: 'edit',
  scope: 'webhook',
  segment: 'edit',
  summary: 'Edit a webhook. The edit applies to the next delivery.',
  methods: CHANGE_METHODS,
  since: '11.1',
  changes: true,
  parameters: webhookParameters('edit'),
  response: 'Webhook',
  run({ context, user, parameters, webhook }) {
    const { webhooks, failures } = context.state
    const { id, serviceType } = webhook
    const changes = readChanges(parameters, { ...context.options, operation: 'edit', serviceType })
    requireFreeName(context, webhook, changes.name, id)
    const edited = webhooks.edit(id, changes, user.username, context.options.omitted) as Webhook
    if (edited.active && !webhook.active) failures.clear(id)
    return changed({ ...toWebhookJson(edited, context.options), ...SUCCESS })
  },
}

const deleteWebhook: WebhookOperation = {
  name: 'delete',
  scope: 'webhook',
  segment: 'delete',
  summary: 'Delete a webhook permanently.',
  methods: CHANGE_METHODS,
  since: '11.1',
  changes: true,
  parameters: [],
  response: 'Status',
  run({ context: { state }, webhook: { id } }) {
    state.webhooks.delete(id)
    state.failures.clear(id)
    return changed(SUCCESS)
  },
}

const notificationStatus: WebhookOperation = {
  name: 'notificationStatus',
  scope: 'webhook',
  segment: 'notificationStatus',
  summary: 'List the failed deliveries of a webhook.',
  methods: READ_METHODS,
  since: '11.2',
  changes: false,
  parameters: [],
  response: 'NotificationStatus',
  run: ({ context, webhook }) =>
    unchanged({
      webhookNotificationStatus: context.state.failures
        .of(webhook.id)
        .map((invokedTimestamp) => ({ invoked: false, invokedTimestamp })),
    }),
}

export const WEBHOOK_OPERATIONS: readonly WebhookOperation[] = [
  readWebhook,
  editWebhook,
  deleteWebhook,
  notificationStatus,
]

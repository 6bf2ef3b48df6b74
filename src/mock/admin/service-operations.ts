import type { Service } from '../state/services.ts'
import type { WebhookSeed } from '../state/webhook.ts'
import {
  CHANGE_METHODS,
  type Context,
  changed,
  READ_METHODS,
  type ServiceOperation,
  unchanged,
} from './operation.ts'
import { SUCCESS, toListJson, toWebhookJson } from './webhook-json.ts'
import { readChanges, requireFreeName, webhookParameters } from './webhook-parameters.ts'

const listWebhooks: ServiceOperation = {
  name: 'list',
  scope: 'service',
  segment: '',
  summary: 'List the webhooks of a service.',
  methods: READ_METHODS,
  since: '11.1',
  changes: false,
  parameters: [],
  response: 'Webhooks',
  run: ({ context, service }) => unchanged(toListJson(context.state.webhooks.list(service), context.options)),
}

const createWebhook: ServiceOperation = {
  name: 'create',
  scope: 'service',
  segment: 'create',
  summary: 'Create a webhook.',
  methods: CHANGE_METHODS,
  since: '11.1',
  changes: true,
  parameters: webhookParameters('create'),
  response: 'Webhook',
  run({ context, user, parameters, service }) {
    const { state, options } = context
    const { serviceType } = service
    const changes = readChanges(parameters, { ...options, operation: 'create', serviceType })
    requireFreeName(context, service, changes.name)
    const seed = {
      active: options.defaultActive,
      ...changes,
      ...service,
      ownerId: user.username,
    } as WebhookSeed
    return changed({ ...toWebhookJson(state.webhooks.create(seed), options), ...SUCCESS })
  },
}

const deleteAll: ServiceOperation = {
  name: 'deleteAll',
  scope: 'service',
  segment: 'deleteAll',
  summary: 'Delete all webhooks of a service permanently.',
  methods: CHANGE_METHODS,
  since: '11.1',
  changes: true,
  parameters: [],
  response: 'Status',
  run({ context: { state }, service }) {
    for (const { id } of state.webhooks.list(service)) {
      state.webhooks.delete(id)
      state.failures.clear(id)
    }
    return changed(SUCCESS)
  },
}

/**
 * Edits only the webhooks that are not yet in the requested state, so that the others keep their `modified`. Activating a
 * webhook whose handshake failed repeats the handshake.
 */
function switchAll({ state }: Context, service: Service, active: boolean, username: string): void {
  for (const webhook of state.webhooks.list(service)) {
    const isStopped = active && state.handshakes.of(webhook.id)?.reason !== undefined
    if (webhook.active !== active || isStopped) state.webhooks.edit(webhook.id, { active }, username)
    if (active) state.failures.clear(webhook.id)
  }
}

const activateAll: ServiceOperation = {
  name: 'activateAll',
  scope: 'service',
  segment: 'activateAll',
  summary: 'Switch all webhooks of a service on, and forget their failures.',
  methods: CHANGE_METHODS,
  since: '11.1',
  changes: true,
  parameters: [],
  response: 'Status',
  run({ context, user, service }) {
    switchAll(context, service, true, user.username)
    return changed(SUCCESS)
  },
}

const deactivateAll: ServiceOperation = {
  ...activateAll,
  name: 'deactivateAll',
  segment: 'deactivateAll',
  summary: 'Switch all webhooks of a service off.',
  run({ context, user, service }) {
    switchAll(context, service, false, user.username)
    return changed(SUCCESS)
  },
}

export const SERVICE_OPERATIONS: readonly ServiceOperation[] = [
  listWebhooks,
  createWebhook,
  deleteAll,
  activateAll,
  deactivateAll,
]

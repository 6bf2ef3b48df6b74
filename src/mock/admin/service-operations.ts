import type { Service } from '../state/services.ts'
import type { WebhookSeed } from '../state/webhook.ts'
import type { Context } from './context.ts'
import { requireFreeName } from './names.ts'
import { CHANGE, changed, READ, type ServiceOperation, unchanged } from './operation.ts'
import { listedWebhook, SUCCESS, webhookAnswer } from './webhook-json.ts'
import { readChanges, webhookParameters } from './webhook-parameters.ts'

const listWebhooks: ServiceOperation = {
  name: 'list',
  scope: 'service',
  segment: '',
  summary: 'List the webhooks of a service.',
  methods: READ,
  since: '11.1',
  changes: false,
  parameters: [],
  response: 'Webhooks',
  run: ({ context, service }) =>
    unchanged({ webhooks: context.state.webhooks.list(service).map(listedWebhook) }),
}

const createWebhook: ServiceOperation = {
  name: 'create',
  scope: 'service',
  segment: 'create',
  summary: 'Create a webhook.',
  methods: CHANGE,
  since: '11.1',
  changes: true,
  parameters: webhookParameters('create'),
  response: 'Webhook',
  run({ context, user, parameters, service }) {
    const { version } = context.options
    const { serviceType } = service
    const changes = readChanges(parameters, { operation: 'create', serviceType, version })
    requireFreeName(context, service, changes.name)
    const { folderName, serviceName } = service
    const seed = { ...changes, folderName, serviceName, serviceType, ownerId: user.username } as WebhookSeed
    return changed({ ...webhookAnswer(context.state.webhooks.create(seed)), ...SUCCESS })
  },
}

const deleteAll: ServiceOperation = {
  name: 'deleteAll',
  scope: 'service',
  segment: 'deleteAll',
  summary: 'Delete all webhooks of a service for ever.',
  methods: CHANGE,
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

/** Only what it changes is modified. */
function switchAll({ state }: Context, service: Service, active: boolean, username: string): void {
  for (const webhook of state.webhooks.list(service)) {
    if (webhook.active !== active) state.webhooks.edit(webhook.id, { active }, username)
    if (active) state.failures.clear(webhook.id)
  }
}

const activateAll: ServiceOperation = {
  name: 'activateAll',
  scope: 'service',
  segment: 'activateAll',
  summary: 'Switch all webhooks of a service on; their failures are forgotten.',
  methods: CHANGE,
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

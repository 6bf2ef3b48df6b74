import { randomUUID } from 'node:crypto'
import type { DeliverySettings } from '../../delivery-settings.ts'
import { AdminError } from '../../http/errors.ts'
import type { Service } from '../../state/services.ts'
import { toWebhook, type Webhook } from '../../state/webhook.ts'
import {
  CHANGE_METHODS,
  type Context,
  changed,
  READ_METHODS,
  type ServiceOperation,
  unchanged,
} from '../operation.ts'
import { readEach, wholeNumber } from '../parameter-values.ts'
import { boundsOf, settingsParameters } from '../settings-parameters.ts'
import { requireFreeName } from '../webhook-parameters.ts'
import { isSuccess, toPortalWebhook } from './json.ts'
import { PAGING, pageOf } from './paging.ts'
import { portalParameters, readPortalChanges } from './parameters.ts'

const SUCCESS = { success: true } as const

/**
 * Announces a webhook, and requires a response with a 2xx status.
 *
 * @throws {AdminError} 400
 */
export async function requireRegistered(context: Context, webhook: Readonly<Webhook>): Promise<void> {
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

const createWebhook: ServiceOperation = {
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
      options.windowSeconds,
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
  createWebhook,
  readSettings,
  updateSettings,
]

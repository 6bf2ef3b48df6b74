import type { DeliverySettings } from '../delivery-settings.ts'
import { AdminError } from '../http/errors.ts'
import { optional, READ_METHODS, required } from '../http/operation.ts'
import { readAll } from '../http/request.ts'
import type { Webhook } from '../state/webhooks.ts'
import { itemIdOf, toHosted, toHostedWebhook } from './hosted.ts'
import {
  type Call,
  CHANGE,
  type Context,
  READ,
  type ServiceOperation,
  type SiteOperation,
  type WebhookOperation,
} from './operation.ts'
import { SUCCESS } from './webhook-operations.ts'

// Operations that only hosted feature services have, most of them for all webhooks of the organization.

const MAX_RECORDS = 100

const ORDERS: Readonly<Record<string, (webhook: Readonly<Webhook>) => string | number>> = {
  owner: ({ ownerId }) => ownerId,
  serviceName: ({ serviceName }) => serviceName,
  serviceItemId: itemIdOf,
  CreationDate: ({ created }) => created,
  lastUpdateDate: ({ modified }) => modified,
}

const LIST_PARAMETERS = [
  optional('resultOffset', 'Number of webhooks to skip. Default: 0.', { type: 'integer', minimum: 0 }),
  optional('resultRecordCount', `Maximum number of webhooks. Default: ${MAX_RECORDS}.`, {
    type: 'integer',
    minimum: 1,
    maximum: MAX_RECORDS,
  }),
  optional('orderBy', 'Order of the webhooks. Default: serviceName.', {
    type: 'string',
    enum: Object.keys(ORDERS),
  }),
  optional('user', 'Lists only the webhooks of this owner.'),
]

interface ListParameters {
  resultOffset?: number
  resultRecordCount?: number
  orderBy?: string
  user?: string
}

const listHosted = ({ state }: Context): Readonly<Webhook>[] =>
  state.webhooks.list().filter(({ serviceType }) => serviceType === 'FeatureServer')

const listOrganization: SiteOperation = {
  name: 'listOrganization',
  scope: 'site',
  segment: '',
  summary: 'List the webhooks of all hosted services; exceededTransferLimit says that there are more.',
  ...READ,
  since: '11.2',
  parameters: LIST_PARAMETERS,
  response: 'HostedPage',
  run(call) {
    const {
      resultOffset = 0,
      resultRecordCount = MAX_RECORDS,
      orderBy = 'serviceName',
      user,
    } = readAll(call.parameters, LIST_PARAMETERS) as ListParameters
    const keyOf = ORDERS[orderBy] as (typeof ORDERS)[string]
    const all = listHosted(call.context)
      .filter(({ ownerId }) => user === undefined || ownerId === user)
      .map((webhook) => [keyOf(webhook), webhook] as const)
      .sort(([one], [other]) => (one < other ? -1 : Number(one > other)))
    const end = resultOffset + resultRecordCount
    const webhooks = all.slice(resultOffset, end).map(([, webhook]) => toHostedWebhook(webhook, call))
    return end < all.length ? [{ exceededTransferLimit: true, webhooks }] : webhooks
  },
}

/** Settings of hosted services with the corresponding settings of the mock. */
const SETTINGS: readonly [
  name: string,
  member: keyof DeliverySettings,
  maximum: number,
  description: string,
][] = [
  ['notificationAttempts', 'notificationAttempts', 5, 'Attempts for one delivery.'],
  ['notificationTimeOutInSeconds', 'notificationElapsedTimeInSeconds', 10, 'Seconds between two attempts.'],
  ['numberOfFailures', 'numberOfFailures', 10, 'Consecutive failures that switch a webhook off.'],
]

const SETTINGS_PARAMETERS = SETTINGS.map(([name, , maximum, description]) =>
  optional(name, description, { type: 'integer', minimum: 1, maximum }),
)

const webhookSettings: SiteOperation = {
  name: 'webhookSettings',
  scope: 'site',
  summary: 'Read the delivery settings of hosted services; with parameters, change them.',
  ...CHANGE,
  methods: READ_METHODS,
  since: '11.2',
  parameters: SETTINGS_PARAMETERS,
  response: 'HostedSettings',
  run({ context: { state }, method, parameters }) {
    const given = readAll(parameters, SETTINGS_PARAMETERS)
    const changes = SETTINGS.filter(([name]) => name in given).map(([name, member]) => [member, given[name]])
    if (changes.length > 0 && method !== 'POST') throw new AdminError(400, 'use POST to change settings')
    state.settings = { ...state.settings, ...Object.fromEntries(changes) }
    return [Object.fromEntries(SETTINGS.map(([name, member]) => [name, String(state.settings[member])]))]
  },
}

const REASSIGN = {
  segment: 'reassignOwner',
  ...CHANGE,
  since: '11.2',
  response: 'Status',
} as const

const OWNER_FROM = required('ownerFrom', 'The present owner.')

/** Makes the caller the owner of those of the webhooks that belong to `ownerFrom`. */
function reassignFrom({ context, user, parameters }: Call, webhooks: readonly Readonly<Webhook>[]): object {
  const { ownerFrom } = readAll(parameters, [OWNER_FROM])
  for (const { id, ownerId } of webhooks)
    if (ownerId === ownerFrom) context.state.webhooks.reassign(id, user.username)
  return SUCCESS
}

export const ORGANIZATION_OPERATIONS: readonly SiteOperation[] = [
  listOrganization,
  webhookSettings,
  toHosted<SiteOperation>({
    ...REASSIGN,
    name: 'reassignInOrganization',
    scope: 'site',
    summary: 'Become the owner of all webhooks of a user.',
    parameters: [OWNER_FROM],
    run: (call) => reassignFrom(call, listHosted(call.context)),
  }),
]

export const REASSIGN_SERVICE: ServiceOperation = {
  ...REASSIGN,
  name: 'reassignInService',
  scope: 'service',
  summary: 'Become the owner of the webhooks that a user has in a service.',
  parameters: [OWNER_FROM],
  run: (call) => reassignFrom(call, call.context.state.webhooks.list(call.service)),
}

export const REASSIGN_WEBHOOK: WebhookOperation = {
  ...REASSIGN,
  name: 'reassignOwner',
  scope: 'webhook',
  summary: 'Become the owner of a webhook.',
  run({ context: { state }, user, webhook }) {
    state.webhooks.reassign(webhook.id, user.username)
    return SUCCESS
  },
}

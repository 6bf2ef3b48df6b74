import { randomUUID } from 'node:crypto'
import { WILDCARD } from '../../../payload/events.ts'
import { tryJson } from '../../../shared/json.ts'
import { isSuccess } from '../../../shared/status.ts'
import { type DeliverySettings, portalSettingsSchema } from '../../delivery-settings.ts'
import { AdminError, quote } from '../../http/errors.ts'
import {
  CHANGE_METHODS,
  optional,
  type ParameterDescription,
  type Parameters,
  required,
} from '../../http/operation.ts'
import { readAll, readParameter, single } from '../../http/request.ts'
import { MAX_KEY, MAX_NAME, MAX_URL, portalConfigSchema, withoutUndefined } from '../../schemas.ts'
import type { Attempt } from '../../state/records.ts'
import {
  ALL_OPERATIONS,
  DEFAULT_PORTAL_CONFIG,
  isPortalTrigger,
  type PortalConfig,
  type Service,
} from '../../state/services.ts'
import { toWebhook, type Webhook, type WebhookChanges } from '../../state/webhooks.ts'
import { SETTINGS_PARAMETERS } from '../fields.ts'
import { itemIdOf } from '../hosted.ts'
import {
  CHANGE,
  type Context,
  ignoreMember,
  READ,
  requireAnswered,
  type ServiceOperation,
  type WebhookOperation,
} from '../operation.ts'
import { readUrl, requireFreeName, splitNames } from '../parameters.ts'
import { removeWebhook, switchWebhook, toListJson } from '../webhook-operations.ts'

const DEFAULT_NUM = 25
const MAX_NUM = 100
const MAX_START = 100_000_000

const PAGING: readonly ParameterDescription[] = [
  optional('start', 'Position of the first entry, from 1.', {
    type: 'integer',
    minimum: 1,
    maximum: MAX_START,
  }),
  optional('num', 'Maximum number of entries.', { type: 'integer', minimum: 1, maximum: MAX_NUM }),
]

/** Returns the requested entries of a list, and the paging members of the response. */
function pageOf<T>(entries: readonly T[], parameters: Parameters) {
  const { start = 1, num = DEFAULT_NUM }: { start?: number; num?: number } = readAll(parameters, PAGING)
  const end = start - 1 + num
  const nextStart = end < entries.length ? end + 1 : -1
  return { page: { total: entries.length, start, num, nextStart }, entries: entries.slice(start - 1, end) }
}

/** A webhook as a portal writes it (docs/senders.md, "Organization webhooks"). */
const toPortalWebhook = (webhook: Readonly<Webhook>): object => ({
  id: webhook.id,
  accountId: webhook.serviceName,
  payloadUrl: webhook.hookUrl,
  secret: webhook.signatureKey,
  isActive: webhook.active,
  name: webhook.name,
  config: webhook.config ?? DEFAULT_PORTAL_CONFIG,
  ownerId: webhook.ownerId,
  created: webhook.created,
  modified: webhook.modified,
  events: webhook.changeTypes.map((name) => (name === WILDCARD ? ALL_OPERATIONS : name)),
})

/** An attempt as `notificationStatus` of a portal writes it. */
const toNotification = ({ webhookId, sentAt, request, answer, error }: Attempt): object => ({
  id: webhookId,
  isInvoked: isSuccess(answer?.status),
  invokedTimestamp: new Date(sentAt).toISOString().replace('T', ' ').replace('Z', ''),
  responseText: answer?.body ?? error ?? '',
  payload: Buffer.from(request.body).toString(),
})

const MAX_TRIGGERS = 100
const MAX_TRIGGER = 256
const MAX_CONFIG = 8192

/**
 * Reads the parameters of createWebhook and update. Absent parameters are left out; an empty `secret` removes it, because
 * the released client sends all parameters (docs/senders.md, "Organization webhooks").
 */
function readPortalChanges(
  parameters: Parameters,
  descriptions: readonly ParameterDescription[],
): WebhookChanges {
  const {
    name,
    url: hookUrl,
    secret: signatureKey,
    config,
    events: changeTypes,
  } = readAll(parameters, descriptions)
  return withoutUndefined({ name, hookUrl, signatureKey, config, changeTypes }) as WebhookChanges
}

function readConfig(parameters: Parameters): PortalConfig | undefined {
  const value = single(parameters, 'config')
  if (value === undefined) return undefined
  const config = value.length <= MAX_CONFIG ? tryJson(value) : undefined
  const result = portalConfigSchema.safeParse(config)
  if (result.success) return result.data as unknown as PortalConfig
  throw new AdminError(
    400,
    'config must be a JSON object like {"deactivationPolicy":{"numberOfFailures":5,"daysInPast":5}}',
  )
}

/** @returns undefined if the request does not say which events it means */
function readTriggers(parameters: Parameters): string[] | undefined {
  const changes = single(parameters, 'changes')
  const names = (parameters.get('events') ?? [])
    .flatMap((value) => splitNames(value, 'events'))
    .map((name) => (name.toUpperCase() === 'ALL' ? ALL_OPERATIONS : name)) // as the released client writes it
  if (changes === 'allChanges') return [ALL_OPERATIONS]
  if (names.length === 0) {
    if (changes !== 'manualChanges') return undefined
    throw new AdminError(400, 'events is required with manualChanges')
  }
  const unknown = names.find((name) => name.length > MAX_TRIGGER || !isPortalTrigger(name))
  if (unknown !== undefined)
    throw new AdminError(
      400,
      `events holds ${quote(unknown)}; use /, /items, /items/add, /items/<id> or /items/<id>/<operation>, also of groups and users`,
    )
  if (names.length > MAX_TRIGGERS) throw new AdminError(400, `events has more than ${MAX_TRIGGERS} triggers`)
  return [...new Set(names)]
}

/** The parameters for the OpenAPI document. */
const portalParameters = (describe: typeof optional): ParameterDescription[] => [
  describe('name', 'The name of the webhook, unique within the portal.', {
    type: 'string',
    minLength: 1,
    maxLength: MAX_NAME,
  }),
  {
    ...describe('url', 'The payload URL. It must answer the registration with a 2xx status.', {
      type: 'string',
      format: 'uri',
      maxLength: MAX_URL,
    }),
    read: readUrl,
  },
  { ...SECRET, read: (all, name) => readParameter(all, SECRET) ?? (all.has(name) ? '' : undefined) },
  {
    ...optional('config', 'A JSON object with deactivationPolicy: numberOfFailures and daysInPast.', {
      type: 'string',
      contentMediaType: 'application/json',
      maxLength: MAX_CONFIG,
    }),
    read: readConfig,
  },
  optional('changes', 'Whether the webhook gets every event, or those in the parameter events.', {
    type: 'string',
    enum: ['allChanges', 'manualChanges'],
  }),
  {
    ...optional('events', 'The triggers: comma-separated, a JSON array, or the parameter repeated.', {
      type: 'string',
      examples: ['/items/add,/groups'],
    }),
    read: readTriggers,
  },
]

const SECRET = optional('secret', 'Sent in the header secret of each delivery. An empty value removes it.', {
  type: 'string',
  maxLength: MAX_KEY,
})

const CREATE_PARAMETERS = portalParameters(required)
const UPDATE_PARAMETERS = portalParameters(optional)

const SUCCESS = { success: true } as const

const requireRegistered = ({ engine }: Context, webhook: Readonly<Webhook>): Promise<void> =>
  requireAnswered(engine.register(webhook), 'url must accept a registration')

export const createPortalWebhook: ServiceOperation = {
  name: 'createWebhook',
  scope: 'service',
  summary: 'Create a webhook of the portal, and announce it to its URL.',
  ...CHANGE,
  parameters: CREATE_PARAMETERS,
  response: 'PortalStatus',
  async run({ context, user, parameters, service }) {
    const { state, options } = context
    const changes = readPortalChanges(parameters, CREATE_PARAMETERS) as Pick<Webhook, 'name' | 'hookUrl'>
    requireFreeName(context, service, changes.name)
    const webhook = toWebhook({ ...changes, ...service, ownerId: user.username, id: newId() }, options)
    await requireRegistered(context, webhook)
    // Another request may have taken the name in the meantime.
    requireFreeName(context, service, webhook.name)
    state.services.add(service as Service)
    const { id } = state.webhooks.create(webhook)
    return { ...SUCCESS, id }
  },
}

/** Ids of a portal have no dashes. */
const newId = (): string => randomUUID().replaceAll('-', '')

/** The table of the documentation and its sample differ in the name. */
const OWNER = ['userName', 'username'].map((name) => optional(name, 'Lists only the webhooks of this owner.'))

const PORTAL_SETTINGS = SETTINGS_PARAMETERS.filter(({ name }) => name in portalSettingsSchema.shape)

export const PORTAL_SERVICE_OPERATIONS: readonly ServiceOperation[] = [
  {
    name: 'listWebhooks',
    scope: 'service',
    segment: '',
    summary: 'List the webhooks of the portal.',
    ...READ,
    parameters: PAGING,
    response: 'PortalWebhooks',
    run({ context, service, parameters }) {
      const { page, entries } = pageOf(context.state.webhooks.list(service), parameters)
      return { ...page, webhooks: entries.map(toPortalWebhook) }
    },
  },
  createPortalWebhook,
  {
    name: 'listServiceWebhooks',
    scope: 'service',
    summary: 'List the webhooks of all services, with the portal items of the services.',
    ...READ,
    methods: CHANGE_METHODS,
    since: '11.3',
    parameters: OWNER,
    response: 'PortalServiceWebhooks',
    run({ context, parameters }) {
      const { userName, username = userName } = readAll(parameters, OWNER)
      if ((userName ?? username) !== username)
        throw new AdminError(400, 'userName and username name different users')
      const webhooks = context.state.webhooks.list().filter(({ serviceType, ownerId }) => {
        return serviceType !== 'Portal' && (username === undefined || ownerId === username)
      })
      return {
        webhooks: toListJson(webhooks, context).webhooks.map((webhook) => {
          return { ...webhook, itemId: itemIdOf(webhook) }
        }),
      }
    },
  },
  {
    name: 'readSettings',
    scope: 'service',
    segment: 'settings',
    summary: 'Read the delivery settings, which all webhooks of the mock share.',
    ...READ,
    response: 'PortalSettings',
    run: ({ context: { state } }) => portalSettingsSchema.strip().parse(state.settings),
  },
  {
    name: 'updateSettings',
    scope: 'service',
    segment: 'settings/update',
    summary: 'Change the delivery settings, which all webhooks of the mock share.',
    ...CHANGE,
    parameters: PORTAL_SETTINGS,
    response: 'PortalStatus',
    run({ context: { state }, parameters }) {
      const changes: Partial<DeliverySettings> = readAll(parameters, PORTAL_SETTINGS)
      state.settings = { ...state.settings, ...changes }
      return SUCCESS
    },
  },
]

export const updatePortalWebhook: WebhookOperation = {
  name: 'update',
  scope: 'webhook',
  summary: 'Update a webhook of the portal, and announce it to a new URL.',
  ...CHANGE,
  parameters: UPDATE_PARAMETERS,
  response: 'PortalStatus',
  async run({ webhook, ...call }) {
    const { context, user, parameters } = call
    const changes = ignoreMember(call, readPortalChanges(parameters, UPDATE_PARAMETERS), webhook)
    requireFreeName(context, webhook, changes.name, webhook.id)
    if (changes.hookUrl !== undefined && changes.hookUrl !== webhook.hookUrl)
      await requireRegistered(context, { ...webhook, ...changes } as Webhook)
    // Other requests may have taken the name or deleted the webhook in the meantime.
    requireFreeName(context, webhook, changes.name, webhook.id)
    if (!context.state.webhooks.edit(webhook.id, changes, user.username))
      throw new AdminError(404, 'the webhook does not exist')
    return SUCCESS
  },
}

const switchOperation = (name: string, active: boolean, summary: string): WebhookOperation => ({
  name,
  scope: 'webhook',
  summary,
  ...CHANGE,
  response: 'PortalStatus',
  run({ context: { state }, user, webhook }) {
    switchWebhook(state, webhook, active, user.username)
    return SUCCESS
  },
})

export const PORTAL_WEBHOOK_OPERATIONS: readonly WebhookOperation[] = [
  {
    name: 'readWebhook',
    scope: 'webhook',
    segment: '',
    summary: 'Read a webhook of the portal.',
    ...READ,
    response: 'PortalWebhook',
    run: ({ webhook }) => toPortalWebhook(webhook),
  },
  updatePortalWebhook,
  {
    name: 'delete',
    scope: 'webhook',
    summary: 'Delete a webhook of the portal permanently.',
    ...CHANGE,
    response: 'PortalStatus',
    run({ context, webhook }) {
      removeWebhook(context.state, webhook.id)
      return SUCCESS
    },
  },
  switchOperation('activate', true, 'Activate a webhook of the portal, and reset its failures.'),
  switchOperation('deactivate', false, 'Deactivate a webhook of the portal.'),
  {
    name: 'notificationStatus',
    scope: 'webhook',
    summary: 'List the recorded attempts of a webhook of the portal, oldest first.',
    ...READ,
    parameters: PAGING,
    response: 'PortalNotificationStatus',
    run({ context, webhook, parameters }) {
      const attempts = context.engine.log.list().filter(({ webhookId }) => webhookId === webhook.id)
      const { page, entries } = pageOf(attempts, parameters)
      return { ...page, WebhookStatus: entries.map(toNotification) }
    },
  },
]

import { configInvalid } from '../errors.ts'
import { requireKnownOptions } from '../options.ts'
import { webhookParameters } from './admin/parameters.ts'
import { create, edit, type Values } from './admin/routes.ts'
import { removeWebhook } from './admin/webhook-operations.ts'
import { warn } from './event-listeners.ts'
import { toConfigInvalid } from './http/errors.ts'
import { withoutUndefined } from './schemas.ts'
import type { Mock } from './service.ts'
import type { ServiceReference } from './state/services.ts'
import type { NewWebhook, Webhook, WebhookChanges } from './state/webhooks.ts'

/** The operations on webhooks as methods of a mock service. */
export interface WebhookMethods {
  /**
   * Creates a webhook of a service, with the checks and defaults of the operation `create`. A portal first announces the
   * webhook to its payload URL.
   *
   * @returns a copy
   * @throws {WebhookError} `config_invalid` for an unknown service, or a value that the operation refuses
   */
  create(webhook: NewWebhook): Promise<Webhook>
  /**
   * Edits a webhook, with the checks of the operation `edit`. Members left out keep their values; with
   * `like: { omitted: 'reset' }`, optional ones get their defaults.
   *
   * @returns a copy
   * @throws {WebhookError} `config_invalid` for an unknown webhook, or a value that the operation refuses
   */
  edit(id: string, changes: WebhookChanges): Promise<Webhook>
  /**
   * Deletes a webhook.
   *
   * @throws {WebhookError} `config_invalid` for an unknown webhook
   */
  delete(id: string): Promise<void>
  /**
   * Returns copies of all webhooks, or of those of a service, in the order of creation.
   *
   * @throws {WebhookError} `config_invalid` for an unknown service
   */
  list(service?: string | ServiceReference): Webhook[]
}

const toNames = (names: readonly string[]) => Object.fromEntries(names.map((name) => [name, true] as const))
const CHANGES = toNames([...webhookParameters('edit').map(({ name }) => name), 'config'])
const SERVICE = toNames(['serviceName', 'serviceType', 'folderName'])
const MEMBERS = { ...CHANGES, ...SERVICE }

/** Members that are objects. The others are texts. */
const OBJECTS = ['scheduleInfo', 'config']

/** Members that the webhooks of a portal do not have. */
const NOT_OF_PORTALS = ['contentType', 'payloadFormat', 'scheduleInfo']

export function createWebhookMethods(mock: Mock): WebhookMethods {
  const { services, webhooks } = mock.state

  async function save<T>(change: Promise<T>): Promise<T> {
    const result = await change.catch((error) => {
      throw toConfigInvalid(error)
    })
    mock.save().catch(warn)
    return structuredClone(result)
  }

  function find(id: string): Readonly<Webhook> {
    const webhook = webhooks.get(id)
    if (webhook) return webhook
    throw configInvalid('the webhook does not exist')
  }

  return {
    async create(webhook) {
      requireKnownOptions(webhook ?? null, MEMBERS, 'member')
      const { serviceName, serviceType, folderName, ...values } = webhook
      const service = services.resolve({ serviceName, serviceType, folderName })
      return save(create(mock, service, toValues(values, service)))
    },
    async edit(id, changes) {
      requireKnownOptions(changes ?? null, CHANGES, 'member')
      const webhook = find(id)
      const { name, hookUrl, changeTypes } = webhook
      const values = { name, hookUrl, changeTypes, ...withoutUndefined(changes) }
      return save(edit(mock, webhook, toValues(values, webhook)))
    },
    async delete(id) {
      removeWebhook(mock.state, find(id).id)
      mock.save().catch(warn)
    },
    list(reference) {
      const name = typeof reference === 'string' ? { serviceName: reference } : reference
      if (name !== undefined) requireKnownOptions(name, SERVICE, 'member')
      return structuredClone(webhooks.list(name && services.resolve(name))) as Webhook[]
    },
  }
}

/**
 * Converts members to parameters of the operations.
 *
 * @throws {WebhookError} `config_invalid`
 */
function toValues(changes: WebhookChanges, { serviceType }: { serviceType: Webhook['serviceType'] }): Values {
  const isPortal = serviceType === 'Portal'
  const values: Record<string, string> = {}
  for (const [name, value] of Object.entries(withoutUndefined(changes))) {
    if (isPortal && NOT_OF_PORTALS.includes(name)) throw configInvalid(`webhooks of a portal have no ${name}`)
    if (!isPortal && name === 'config') throw configInvalid('only webhooks of a portal have a config')
    if (name === 'active' && typeof value !== 'boolean') throw configInvalid('active must be true or false')
    if (OBJECTS.includes(name)) {
      if (typeof value !== 'object' || value === null || Array.isArray(value))
        throw configInvalid(`${name} must be an object`)
    } else if (name !== 'active') {
      const isList = name === 'changeTypes' && Array.isArray(value)
      if (!isList && typeof value !== 'string')
        throw configInvalid(`${name} must be a text${name === 'changeTypes' ? ' or a list of texts' : ''}`)
      if (value.length === 0 && isList) throw configInvalid(`${name} must not be empty`)
    }
    values[name] = typeof value === 'string' ? value : JSON.stringify(value)
  }
  if (!isPortal) return values
  const { hookUrl: url, signatureKey: secret, changeTypes: events, ...others } = values
  return { ...others, url, secret, events }
}

import { randomUUID } from 'node:crypto'
import { configInvalid } from '../errors.ts'
import { WILDCARD } from '../payload/change-types.ts'
import { requireTrimmed } from '../signature/keyring.ts'
import type { Service, ServiceSeed } from './services.ts'
import { servicePath, toService } from './services.ts'

/** When a feature service gathers events (specification, "scheduleInfo object"). */
export interface ScheduleInfo {
  name: string
  state: string
  startAt: number
  recurrenceInfo: { interval: number; frequency: string }
}

/** A webhook, with the specification's fields in their order (specification, "Webhook"). */
export interface Webhook {
  id: string
  folderName: string
  serviceName: string
  serviceType: 'FeatureServer' | 'GPServer'
  name: string
  changeTypes: string[]
  signatureKey: string
  hookUrl: string
  active: boolean
  contentType: 'application/json' | 'application/x-www-form-urlencoded'
  /** Empty for a geoprocessing webhook. */
  scheduleInfo: ScheduleInfo | Record<string, never>
  payloadFormat: 'json' | 'pjson'
  /** Milliseconds since 1970. */
  created: number
  /** Milliseconds since 1970. */
  modified: number
  ownerId: string
  modifiedId: string
}

/** A webhook to start with: its service, its name and its payload URL; all else has a default. */
export type WebhookSeed = ServiceSeed & Pick<Webhook, 'name' | 'hookUrl'> & Partial<Webhook>

/** What an edit may change. */
export type WebhookChanges = Partial<
  Pick<
    Webhook,
    'name' | 'changeTypes' | 'signatureKey' | 'hookUrl' | 'active' | 'contentType' | 'payloadFormat'
  >
> & {
  /** The members that are given; the others stay. */
  scheduleInfo?: Partial<ScheduleInfo>
}

/** The webhooks of a mock service. What it gives out are copies. */
export interface WebhookStore {
  list(service?: Service): Webhook[]
  find(service: Service, id: string): Webhook | undefined
  /** Whether another webhook of the same service has this name. */
  isTaken(name: string, webhook: Webhook): boolean
  /** @returns the webhook after the edit, or undefined where there is none */
  edit(id: string, changes: WebhookChanges): Webhook | undefined
  /** @returns whether there was one; its id is never given out again */
  delete(id: string): boolean
}

/** Whoever edits, as long as nobody has to say who they are. */
const USER = 'admin'

/** @throws {WebhookError} `config_invalid` for an id or a name twice, or white space around a key */
export function createWebhookStore(seeds: readonly WebhookSeed[], clock: () => number): WebhookStore {
  const webhooks = new Map<string, Webhook>()

  const isTaken = (name: string, webhook: Webhook): boolean =>
    [...webhooks.values()].some(
      (other) => other.name === name && other.id !== webhook.id && belongsTo(other, webhook),
    )

  for (const seed of seeds) {
    const webhook = toWebhook(structuredClone(seed), clock())
    const { id, name, signatureKey } = webhook
    requireTrimmed(signatureKey)
    if (webhooks.has(id)) throw configInvalid(`two webhooks have the id ${id}`)
    if (isTaken(name, webhook))
      throw configInvalid(`two webhooks of ${servicePath(webhook)} are named ${name}`)
    webhooks.set(id, webhook)
  }

  return {
    list(service) {
      const all = [...webhooks.values()]
      return structuredClone(service ? all.filter((webhook) => belongsTo(webhook, service)) : all)
    },
    find(service, id) {
      const webhook = webhooks.get(id)
      return webhook && belongsTo(webhook, service) ? structuredClone(webhook) : undefined
    },
    isTaken,
    edit(id, changes) {
      const before = webhooks.get(id)
      if (!before) return undefined
      const after: Webhook = {
        ...before,
        ...structuredClone(changes),
        scheduleInfo: { ...before.scheduleInfo, ...changes.scheduleInfo } as Webhook['scheduleInfo'],
        modified: clock(),
        modifiedId: USER,
      }
      webhooks.set(id, after)
      return structuredClone(after)
    },
    delete: (id) => webhooks.delete(id),
  }
}

const belongsTo = (webhook: Webhook, service: Service): boolean =>
  servicePath(webhook) === servicePath(service)

function toWebhook(seed: WebhookSeed, now: number): Webhook {
  const service = toService(seed)
  const schedule = {
    name: '',
    state: 'enabled',
    startAt: now,
    recurrenceInfo: { interval: 20, frequency: 'second' },
  }
  return {
    id: seed.id ?? randomUUID(),
    ...service,
    name: seed.name,
    changeTypes: seed.changeTypes ?? [WILDCARD],
    signatureKey: seed.signatureKey ?? '',
    hookUrl: seed.hookUrl,
    active: seed.active ?? true,
    contentType: seed.contentType ?? 'application/json',
    scheduleInfo: service.serviceType === 'GPServer' ? {} : { ...schedule, ...seed.scheduleInfo },
    payloadFormat: seed.payloadFormat ?? 'json',
    created: seed.created ?? now,
    modified: seed.modified ?? now,
    ownerId: seed.ownerId ?? USER,
    modifiedId: seed.modifiedId ?? USER,
  }
}

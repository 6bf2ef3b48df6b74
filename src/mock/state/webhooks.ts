import { randomUUID } from 'node:crypto'
import { configInvalid } from '../../errors.ts'
import { WILDCARD } from '../../payload/events.ts'
import { withoutUndefined } from '../schemas.ts'
import {
  ALL_OPERATIONS,
  DEFAULT_PORTAL_CONFIG,
  type PortalConfig,
  type Service,
  type ServiceReference,
  type ServiceSeed,
  type ServiceType,
  servicePath,
  toService,
} from './services.ts'

/** When a feature service gathers events (docs/specification.md, "Schedule"). */
export interface ScheduleInfo {
  name: string
  state: 'enabled' | 'disabled'
  /** Milliseconds since 1970. */
  startAt: number
  recurrenceInfo: {
    /** Length of a window, in units of `frequency`; 1 or more. */
    interval: number
    frequency: 'second' | 'minute' | 'hour' | 'day' | 'week' | 'month' | 'year'
  }
}

/** A webhook, with the fields in the specification's order (docs/specification.md, "Webhook"). */
export interface Webhook extends Service {
  id: string
  folderName: string
  serviceName: string
  serviceType: ServiceType
  name: string
  changeTypes: string[]
  /** If empty, deliveries are not signed. */
  signatureKey: string
  hookUrl: string
  active: boolean
  contentType: 'application/json' | 'application/x-www-form-urlencoded'
  /** Empty for geoprocessing webhooks, and for webhooks without their own schedule. */
  scheduleInfo: ScheduleInfo | Record<string, never>
  payloadFormat: 'json' | 'pjson'
  /** Milliseconds since 1970. */
  created: number
  /** Milliseconds since 1970. */
  modified: number
  ownerId: string
  modifiedId: string
  /** Present only for webhooks of a portal. */
  config?: PortalConfig
}

/** A webhook to start with. Service, name and payload URL are required; other fields have defaults. */
export type WebhookSeed = ServiceSeed &
  Pick<Webhook, 'name' | 'hookUrl'> & {
    [field in Exclude<keyof Webhook, keyof ServiceSeed | 'name' | 'hookUrl' | 'scheduleInfo'>]?:
      | Webhook[field]
      | undefined
  } & {
    /** Members left out have their defaults. */
    scheduleInfo?: Partial<ScheduleInfo> | undefined
  }

/** Fields that create and edit can set. */
export type WebhookChanges = Partial<
  Pick<
    Webhook,
    | 'name'
    | 'changeTypes'
    | 'signatureKey'
    | 'hookUrl'
    | 'active'
    | 'contentType'
    | 'payloadFormat'
    | 'config'
  >
> & {
  /**
   * Members left out keep their values, or get defaults if the webhook has no schedule. An empty object changes
   * nothing.
   */
  scheduleInfo?: Partial<ScheduleInfo>
}

/** A webhook to create on a service that exists. `serviceType` is required only if two services have this name. */
export type NewWebhook = ServiceReference & WebhookChanges & Pick<Webhook, 'name' | 'hookUrl'>

/** User name of all requests if the service has no `auth`. */
export const ANYONE = 'admin'

/** The default schedule of a feature service webhook (docs/senders.md, "Administration"). */
const defaultSchedule = (startAt: number, length: number): ScheduleInfo => ({
  name: '',
  state: 'enabled',
  startAt,
  recurrenceInfo: { interval: length / 1000, frequency: 'second' },
})

/** The windows of a service. */
export interface ResolvedWindow {
  /** Which webhooks of feature services collect events. */
  webhooks: 'none' | 'scheduled' | 'all'
  /** Milliseconds. */
  length: number
  /** Milliseconds. */
  minimum: number
}

/**
 * Returns the schedule of a webhook: its own, or the default if every webhook gathers events. Otherwise empty, so that
 * a client that writes back what it has read does not start a schedule.
 */
export function shownSchedule(
  { serviceType, scheduleInfo, created }: Readonly<Webhook>,
  { webhooks, length }: ResolvedWindow,
): Webhook['scheduleInfo'] {
  if (serviceType !== 'FeatureServer') return {}
  if (webhooks !== 'all' || 'recurrenceInfo' in scheduleInfo) return scheduleInfo
  return defaultSchedule(created, length)
}

/**
 * Changes some members of a webhook's schedule. Members are in the specification's order.
 *
 * @param length milliseconds of a window if neither the schedule nor the changes have one
 */
function withSchedule(
  { scheduleInfo, created }: Pick<Webhook, 'scheduleInfo' | 'created'>,
  length: number,
  members: Partial<ScheduleInfo> = {},
): Webhook['scheduleInfo'] {
  const changes = withoutUndefined(members)
  if (Object.keys(changes).length === 0) return scheduleInfo
  const { recurrenceInfo, ...others } = { ...defaultSchedule(created, length), ...scheduleInfo, ...changes }
  const { interval, frequency } = recurrenceInfo
  return { ...others, recurrenceInfo: { interval, frequency } }
}

/** Defaults of optional fields. */
export const DEFAULTS: Pick<
  Webhook,
  'changeTypes' | 'signatureKey' | 'active' | 'contentType' | 'scheduleInfo' | 'payloadFormat'
> = {
  changeTypes: [WILDCARD],
  signatureKey: '',
  active: true,
  contentType: 'application/json',
  scheduleInfo: {},
  payloadFormat: 'json',
}

/**
 * Adds defaults, and puts the fields in the specification's order.
 *
 * @param length milliseconds of a window if the schedule of the seed has none
 */
export function toWebhook(seed: WebhookSeed, now: number, length: number): Webhook {
  const { created = now, ownerId = ANYONE } = seed
  const isPortal = seed.serviceType === 'Portal'
  return {
    id: seed.id ?? randomUUID(),
    ...toService(seed),
    name: seed.name,
    changeTypes: seed.changeTypes ?? (isPortal ? [ALL_OPERATIONS] : [...DEFAULTS.changeTypes]),
    signatureKey: seed.signatureKey ?? DEFAULTS.signatureKey,
    hookUrl: seed.hookUrl,
    active: seed.active ?? DEFAULTS.active,
    contentType: seed.contentType ?? DEFAULTS.contentType,
    scheduleInfo:
      seed.serviceType === 'FeatureServer'
        ? withSchedule({ scheduleInfo: {}, created }, length, seed.scheduleInfo)
        : {},
    payloadFormat: seed.payloadFormat ?? DEFAULTS.payloadFormat,
    created,
    modified: seed.modified ?? created,
    ownerId,
    modifiedId: seed.modifiedId ?? ownerId,
    ...(isPortal ? { config: seed.config ?? structuredClone(DEFAULT_PORTAL_CONFIG) } : {}),
  }
}

/** A kind of change of a webhook. */
export type WebhookChange = 'created' | 'edited' | 'deleted' | 'switched_off'

/** The webhooks of a mock service. They are immutable: an edit creates a new object. */
export interface WebhookStore {
  /** All webhooks, or those of a service, in the order of creation. */
  list(service?: Service): readonly Readonly<Webhook>[]
  /** Iterates over the webhooks of a service without copying them. */
  of(service: Service): Iterable<Readonly<Webhook>>
  get(id: string): Readonly<Webhook> | undefined
  /** Finds a webhook of a service by name. */
  named(service: Service, name: string): Readonly<Webhook> | undefined
  create(seed: WebhookSeed): Readonly<Webhook>
  /**
   * @param omitted whether fields left out of `changes` keep their values or get their defaults; default `'keep'`. The
   *   name and the payload URL are always kept.
   * @returns the edited webhook, or undefined if no webhook has the id
   */
  edit(
    id: string,
    changes: WebhookChanges,
    modifiedId: string,
    omitted?: 'keep' | 'reset',
  ): Readonly<Webhook> | undefined
  /** Deactivates a webhook whose deliveries failed too often. */
  switchOff(id: string): void
  /** @returns false if no webhook has the id */
  delete(id: string): boolean
  /**
   * Replaces all webhooks.
   *
   * @throws {WebhookError} `config_invalid` for a duplicate id or name, and changes nothing
   */
  restore(seeds: readonly WebhookSeed[]): void
}

interface WebhookStoreOptions {
  now(): number
  /** Default of `active` for an edit that resets omitted fields. */
  defaultActive: boolean
  window: ResolvedWindow
  onChange(change: WebhookChange, webhook: Readonly<Webhook>): void
}

/** Maps that let an operation find a webhook without iterating over all of them. */
interface Index {
  byId: Map<string, Readonly<Webhook>>
  byService: Map<string, Map<string, Readonly<Webhook>>>
  /** Ids by service and name. */
  byName: Map<string, string>
}

export function createWebhookStore(options: WebhookStoreOptions): WebhookStore {
  const { now, onChange, window } = options
  const defaults = { ...DEFAULTS, active: options.defaultActive }
  let index = emptyIndex()

  const toStored = (seed: WebhookSeed): Webhook => toWebhook(structuredClone(seed), now(), window.length)

  function replace(before: Readonly<Webhook>, changes: Partial<Webhook>): Readonly<Webhook> {
    // `modified` changes with every edit, even if two edits happen in the same millisecond.
    const after = { ...before, ...changes, modified: Math.max(now(), before.modified + 1) }
    index.byName.delete(nameKey(before, before.name))
    put(index, after)
    return after
  }

  return {
    list: (service) => [
      ...((service ? index.byService.get(servicePath(service)) : index.byId)?.values() ?? []),
    ],
    of: (service) => index.byService.get(servicePath(service))?.values() ?? [],
    get: (id) => index.byId.get(id),
    named: (service, name) => index.byId.get(index.byName.get(nameKey(service, name)) ?? ''),
    create(seed) {
      const webhook = toStored(seed)
      put(index, webhook)
      onChange('created', webhook)
      return webhook
    },
    edit(id, { scheduleInfo, ...changes }, modifiedId, omitted = 'keep') {
      const before = index.byId.get(id)
      if (!before) return undefined
      const kept = omitted === 'keep' ? before : { ...before, ...structuredClone(defaults) }
      const after = replace(before, {
        ...kept,
        ...structuredClone(changes),
        scheduleInfo: withSchedule(kept, window.length, structuredClone(scheduleInfo)),
        modifiedId,
      })
      onChange('edited', after)
      return after
    },
    switchOff(id) {
      const before = index.byId.get(id)
      if (before?.active) onChange('switched_off', replace(before, { active: false }))
    },
    delete(id) {
      const webhook = index.byId.get(id)
      if (!webhook) return false
      index.byId.delete(id)
      index.byService.get(servicePath(webhook))?.delete(id)
      index.byName.delete(nameKey(webhook, webhook.name))
      onChange('deleted', webhook)
      return true
    },
    restore(seeds) {
      index = toIndex(seeds.map(toStored))
    },
  }
}

const emptyIndex = (): Index => ({ byId: new Map(), byService: new Map(), byName: new Map() })

function toIndex(webhooks: readonly Webhook[]): Index {
  const index = emptyIndex()
  for (const webhook of webhooks) {
    const { id, name } = webhook
    if (index.byId.has(id)) throw configInvalid(`two webhooks have the id ${id}`)
    if (index.byName.has(nameKey(webhook, name)))
      throw configInvalid(`two webhooks of ${servicePath(webhook)} are named ${name}`)
    put(index, webhook)
  }
  return index
}

/** Adds or replaces a webhook. A replaced webhook keeps its position, so lists stay in the order of creation. */
function put({ byId, byService, byName }: Index, webhook: Webhook): void {
  const path = servicePath(webhook)
  byId.set(webhook.id, Object.freeze(webhook))
  byService.set(path, (byService.get(path) ?? new Map()).set(webhook.id, webhook))
  byName.set(nameKey(webhook, webhook.name), webhook.id)
}

/** Paths contain no line breaks, so the key is unique for a service and a name. */
const nameKey = (service: Service, name: string): string => `${servicePath(service)}\n${name}`

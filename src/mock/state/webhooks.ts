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

/** Adds defaults, and puts the fields in the specification's order. */
export function toWebhook(
  seed: WebhookSeed,
  { clock, window }: Pick<WebhookRules, 'clock' | 'window'>,
): Webhook {
  const { created = clock.now(), ownerId = ANYONE } = seed
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
        ? withSchedule({ scheduleInfo: {}, created }, window.length, seed.scheduleInfo)
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

/** The options of a mock service that its webhooks depend on. */
interface WebhookRules {
  clock: { now(): number }
  /** Default of `active` for an edit that resets omitted fields. */
  defaultActive: boolean
  window: ResolvedWindow
}

/** The webhooks of a mock service. They are immutable: an edit creates a new object. */
export class WebhookStore {
  readonly #rules: WebhookRules
  readonly #onChange: (change: WebhookChange, webhook: Readonly<Webhook>) => void
  // Maps that let an operation find a webhook without iterating over all of them.
  readonly #byId = new Map<string, Readonly<Webhook>>()
  readonly #byService = new Map<string, Map<string, Readonly<Webhook>>>()
  /** Ids by service and name. */
  readonly #idByName = new Map<string, string>()

  constructor(rules: WebhookRules, onChange: (change: WebhookChange, webhook: Readonly<Webhook>) => void) {
    this.#rules = rules
    this.#onChange = onChange
  }

  /** All webhooks, or those of a service, in the order of creation. */
  list(service?: Service): readonly Readonly<Webhook>[] {
    return [...(service ? this.of(service) : this.#byId.values())]
  }

  /** Iterates over the webhooks of a service without copying them. */
  of(service: Service): Iterable<Readonly<Webhook>> {
    return this.#byService.get(servicePath(service))?.values() ?? []
  }

  get(id: string): Readonly<Webhook> | undefined {
    return this.#byId.get(id)
  }

  named(service: Service, name: string): Readonly<Webhook> | undefined {
    return this.get(this.#idByName.get(nameKey(service, name)) ?? '')
  }

  create(seed: WebhookSeed): Readonly<Webhook> {
    const webhook = this.#toStored(seed)
    this.#put(webhook)
    this.#onChange('created', webhook)
    return webhook
  }

  /**
   * @param omitted whether fields left out of `changes` keep their values or get their defaults. The name and the
   *   payload URL are always kept
   * @returns the edited webhook, or undefined if no webhook has the id
   */
  edit(
    id: string,
    { scheduleInfo, ...changes }: WebhookChanges,
    modifiedId: string,
    omitted: 'keep' | 'reset' = 'keep',
  ): Readonly<Webhook> | undefined {
    const before = this.get(id)
    if (!before) return undefined
    const { defaultActive, window } = this.#rules
    const defaults = { ...structuredClone(DEFAULTS), active: defaultActive }
    const kept = omitted === 'keep' ? before : { ...before, ...defaults }
    const after = this.#replace(before, {
      ...kept,
      ...structuredClone(changes),
      scheduleInfo: withSchedule(kept, window.length, structuredClone(scheduleInfo)),
      modifiedId,
    })
    this.#onChange('edited', after)
    return after
  }

  /** Makes a user the owner of a webhook. */
  reassign(id: string, ownerId: string): void {
    const before = this.get(id)
    if (before) this.#onChange('edited', this.#replace(before, { ownerId, modifiedId: ownerId }))
  }

  /** Deactivates a webhook whose deliveries failed too often. */
  switchOff(id: string): void {
    const before = this.get(id)
    if (before?.active) this.#onChange('switched_off', this.#replace(before, { active: false }))
  }

  delete(id: string): void {
    const webhook = this.get(id)
    if (!webhook) return
    this.#byId.delete(id)
    this.#byService.get(servicePath(webhook))?.delete(id)
    this.#idByName.delete(nameKey(webhook, webhook.name))
    this.#onChange('deleted', webhook)
  }

  /**
   * Replaces all webhooks.
   *
   * @throws {WebhookError} `config_invalid` for a duplicate id or name, and changes nothing
   */
  restore(seeds: readonly WebhookSeed[]): void {
    const webhooks = seeds.map((seed) => this.#toStored(seed))
    requireDistinct(webhooks)
    for (const map of [this.#byId, this.#byService, this.#idByName]) map.clear()
    for (const webhook of webhooks) this.#put(webhook)
  }

  /** Adds or replaces a webhook. A replaced webhook keeps its position, so lists stay in the order of creation. */
  #put(webhook: Webhook): void {
    const path = servicePath(webhook)
    this.#byId.set(webhook.id, Object.freeze(webhook))
    this.#byService.set(path, (this.#byService.get(path) ?? new Map()).set(webhook.id, webhook))
    this.#idByName.set(nameKey(webhook, webhook.name), webhook.id)
  }

  #toStored(seed: WebhookSeed): Webhook {
    return toWebhook(structuredClone(seed), this.#rules)
  }

  #replace(before: Readonly<Webhook>, changes: Partial<Webhook>): Readonly<Webhook> {
    // `modified` changes with every edit, even if two edits happen in the same millisecond.
    const modified = Math.max(this.#rules.clock.now(), before.modified + 1)
    const after = { ...before, ...changes, modified }
    this.#idByName.delete(nameKey(before, before.name))
    this.#put(after)
    return after
  }
}

function requireDistinct(webhooks: readonly Webhook[]): void {
  const known = new Set<string>()
  for (const webhook of webhooks) {
    const { id, name } = webhook
    if (known.has(id)) throw configInvalid(`two webhooks have the id ${id}`)
    if (known.has(nameKey(webhook, name)))
      throw configInvalid(`two webhooks of ${servicePath(webhook)} are named ${name}`)
    known.add(id).add(nameKey(webhook, name))
  }
}

/** Paths contain no line breaks, so the key is unique for a service and a name. */
const nameKey = (service: Service, name: string): string => `${servicePath(service)}\n${name}`

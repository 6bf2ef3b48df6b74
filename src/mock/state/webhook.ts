import { randomUUID } from 'node:crypto'
import { WILDCARD } from '../../payload/events.ts'
import { withoutUndefined } from '../without-undefined.ts'
import { ALL_OPERATIONS, DEFAULT_PORTAL_CONFIG, type PortalConfig } from './portal.ts'
import { type Service, type ServiceSeed, type ServiceType, toService } from './services.ts'

/** When a feature service gathers events (docs/specification.md, "Schedule"). */
export interface ScheduleInfo {
  name: string
  state: 'enabled' | 'disabled'
  /** Milliseconds since 1970. */
  startAt: number
  recurrenceInfo: {
    /** Length of a window, in units of `frequency`; 1 or more. */
    interval: number
    frequency: Frequency
  }
}

export const FREQUENCIES = ['second', 'minute', 'hour', 'day', 'week', 'month', 'year'] as const
export type Frequency = (typeof FREQUENCIES)[number]

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

/** User name of all requests if the service has no `auth`. */
export const ANYONE = 'admin'

/** The default schedule of a feature service webhook (docs/senders.md, "Administration"). */
const defaultSchedule = (startAt: number, seconds: number): ScheduleInfo => ({
  name: '',
  state: 'enabled',
  startAt,
  recurrenceInfo: { interval: seconds, frequency: 'second' },
})

/** Options that decide by which schedule a webhook gathers events. */
export interface Gathering {
  gather: 'never' | 'scheduled' | 'always'
  /** Length of a window in seconds, for webhooks without a schedule of their own. */
  windowSeconds: number
}

/**
 * Returns the schedule of a webhook: its own, or the default if every webhook gathers events. Otherwise empty, so that
 * a client that writes back what it has read does not start a schedule.
 */
export function shownSchedule(
  { serviceType, scheduleInfo, created }: Readonly<Webhook>,
  { gather, windowSeconds }: Gathering,
): Webhook['scheduleInfo'] {
  if (serviceType !== 'FeatureServer') return {}
  if (gather !== 'always' || 'recurrenceInfo' in scheduleInfo) return scheduleInfo
  return defaultSchedule(created, windowSeconds)
}

/**
 * Changes some members of a webhook's schedule. Members are in the specification's order.
 *
 * @param seconds length of a window if neither the schedule nor the changes have one
 */
export function withSchedule(
  { scheduleInfo, created }: Pick<Webhook, 'scheduleInfo' | 'created'>,
  seconds: number,
  members: Partial<ScheduleInfo> = {},
): Webhook['scheduleInfo'] {
  const changes = withoutUndefined(members)
  if (Object.keys(changes).length === 0) return scheduleInfo
  const { recurrenceInfo, ...others } = { ...defaultSchedule(created, seconds), ...scheduleInfo, ...changes }
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
 * @param seconds length of a window if the schedule of the seed has none
 */
export function toWebhook(seed: WebhookSeed, now: number, seconds: number): Webhook {
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
        ? withSchedule({ scheduleInfo: {}, created }, seconds, seed.scheduleInfo)
        : {},
    payloadFormat: seed.payloadFormat ?? DEFAULTS.payloadFormat,
    created,
    modified: seed.modified ?? created,
    ownerId,
    modifiedId: seed.modifiedId ?? ownerId,
    ...(isPortal ? { config: seed.config ?? structuredClone(DEFAULT_PORTAL_CONFIG) } : {}),
  }
}

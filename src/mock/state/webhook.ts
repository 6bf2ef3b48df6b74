import { randomUUID } from 'node:crypto'
import { WILDCARD } from '../../payload/change-types.ts'
import { defined } from '../without-undefined.ts'
import { type Service, type ServiceSeed, type ServiceType, toService } from './services.ts'

/** When a feature service gathers events (specification, "scheduleInfo object"). */
export interface ScheduleInfo {
  name: string
  state: 'enabled' | 'disabled'
  /** Milliseconds since 1970. */
  startAt: number
  recurrenceInfo: {
    /** 1 or more. */
    interval: number
    frequency: Frequency
  }
}

export const FREQUENCIES = ['second', 'minute', 'hour', 'day', 'week', 'month', 'year'] as const
export type Frequency = (typeof FREQUENCIES)[number]

/** A webhook, with the specification's fields in their order (specification, "Webhook"). */
export interface Webhook extends Service {
  id: string
  folderName: string
  serviceName: string
  serviceType: ServiceType
  name: string
  changeTypes: string[]
  /** Empty where it has none: then its deliveries are not signed. */
  signatureKey: string
  hookUrl: string
  active: boolean
  contentType: 'application/json' | 'application/x-www-form-urlencoded'
  /** Empty for a geoprocessing webhook, and for one that has no schedule of its own. */
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
export type WebhookSeed = ServiceSeed &
  Pick<Webhook, 'name' | 'hookUrl'> & {
    [field in Exclude<keyof Webhook, keyof ServiceSeed | 'name' | 'hookUrl' | 'scheduleInfo'>]?:
      | Webhook[field]
      | undefined
  } & {
    /** The members that are given; the others have their defaults. */
    scheduleInfo?: Partial<ScheduleInfo> | undefined
  }

/** What create and edit set. */
export type WebhookChanges = Partial<
  Pick<
    Webhook,
    'name' | 'changeTypes' | 'signatureKey' | 'hookUrl' | 'active' | 'contentType' | 'payloadFormat'
  >
> & {
  /** The members that are given; the others stay, or have their defaults. An empty object changes nothing. */
  scheduleInfo?: Partial<ScheduleInfo>
}

/** Whoever acts, as long as nobody has to say who they are. */
export const ANYONE = 'admin'

/** The schedule of a feature service webhook that has none of its own (field facts, "Admin operations"). */
export const defaultSchedule = (startAt: number): ScheduleInfo => ({
  name: '',
  state: 'enabled',
  startAt,
  recurrenceInfo: { interval: 20, frequency: 'second' },
})

/** A schedule with some members changed, in the specification's order; without any, what it was. */
export function withSchedule(
  { scheduleInfo, created }: Pick<Webhook, 'scheduleInfo' | 'created'>,
  given: Partial<ScheduleInfo> = {},
): Webhook['scheduleInfo'] {
  const changes = defined(given)
  if (Object.keys(changes).length === 0) return scheduleInfo
  const { recurrenceInfo, ...others } = { ...defaultSchedule(created), ...scheduleInfo, ...changes }
  const { interval, frequency } = recurrenceInfo
  return { ...others, recurrenceInfo: { interval, frequency } }
}

/** What a webhook has where nothing is said of it. */
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

/** A webhook with every field, in the specification's order. */
export function toWebhook(seed: WebhookSeed, now: number): Webhook {
  const { created = now, ownerId = ANYONE } = seed
  return {
    id: seed.id ?? randomUUID(),
    ...toService(seed),
    name: seed.name,
    changeTypes: seed.changeTypes ?? [...DEFAULTS.changeTypes],
    signatureKey: seed.signatureKey ?? DEFAULTS.signatureKey,
    hookUrl: seed.hookUrl,
    active: seed.active ?? DEFAULTS.active,
    contentType: seed.contentType ?? DEFAULTS.contentType,
    scheduleInfo:
      seed.serviceType === 'GPServer' ? {} : withSchedule({ scheduleInfo: {}, created }, seed.scheduleInfo),
    payloadFormat: seed.payloadFormat ?? DEFAULTS.payloadFormat,
    created,
    modified: seed.modified ?? created,
    ownerId,
    modifiedId: seed.modifiedId ?? ownerId,
  }
}

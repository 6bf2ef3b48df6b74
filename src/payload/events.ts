import { isObject, type Json, requireSafe, tryJson } from '../shared/json.ts'

/** The wildcard: any change type (docs/specification.md, "Events"). */
export const WILDCARD = '*'

/** The triggers of feature services (docs/senders.md, "Change types"). */
export const FEATURE_CHANGE_TYPES = [
  'FeaturesCreated',
  'FeaturesUpdated',
  'FeaturesDeleted',
  'FeaturesEdited',
  'AttachmentsCreated',
  'AttachmentsUpdated',
  'AttachmentsDeleted',
  'LayerSchemaChanged',
  'LayerDefinitionChanged',
  'FeatureServiceDefinitionChanged',
  'PostPerformed',
] as const

/** A trigger of a feature service. */
export type FeatureChangeType = (typeof FEATURE_CHANGE_TYPES)[number]

/**
 * The trigger of the post operation (version 11.3 and later). The specification gives the trigger no name, so this name
 * is our choice (docs/decisions.md). If your service uses another name, pass that name to `on`.
 */
export const POST_PERFORMED = 'PostPerformed'

/** Job results that geoprocessing services send (docs/senders.md, "Change types"). */
export const JOB_CHANGE_TYPES = [
  'esriJobSucceeded',
  'esriJobFailed',
  'esriJobCancelled',
  'esriJobTimedOut',
] as const

/** The result of a geoprocessing job. */
export type JobChangeType = (typeof JOB_CHANGE_TYPES)[number]

/** A change type from the specification or from known senders. */
export type KnownChangeType = FeatureChangeType | JobChangeType

/** Every known change type. */
export const KNOWN_CHANGE_TYPES: readonly string[] = [...FEATURE_CHANGE_TYPES, ...JOB_CHANGE_TYPES]

/** Any change type. Code editors suggest the known change types; every other string is allowed. */
export type ChangeType = KnownChangeType | typeof WILDCARD | (string & {})

/** The change types of the events that a handler for `T` receives. */
export type MatchedChangeType<T extends string> = T extends typeof WILDCARD
  ? string
  : T extends 'FeaturesEdited'
    ? T | EditChangeType
    : T

export const isJobChangeType = (changeType: string): boolean =>
  (JOB_CHANGE_TYPES as readonly string[]).includes(changeType)

/** The change types that `FeaturesEdited` includes. */
const EDIT_CHANGE_TYPES = ['FeaturesCreated', 'FeaturesUpdated', 'FeaturesDeleted'] as const

export type EditChangeType = (typeof EDIT_CHANGE_TYPES)[number]

/**
 * Returns the names that a handler can subscribe to in order to receive a change type: its own name, `FeaturesEdited`
 * for edits, and the wildcard.
 */
export function subscriptionsOf(changeType: string): string[] {
  return (EDIT_CHANGE_TYPES as readonly string[]).includes(changeType)
    ? [changeType, 'FeaturesEdited', WILDCARD]
    : [changeType, WILDCARD]
}

/** The service that sent an event. Names missing from the payload are empty strings. */
export interface ServiceName {
  folderName: string
  serviceName: string
  serviceType: 'FeatureServer' | 'GPServer' | (string & {})
}

/**
 * One event of a payload, in the same shape for all dialects. Optional members are absent if the payload lacks them.
 */
export interface WebhookEvent<T extends string = string> {
  /** The name of the trigger, as spelled by the sender. Empty if the payload does not name a trigger. */
  changeType: T
  /**
   * `'caught_up'` if no delivery announced the changes: `catchUp` of `geohook/changes` found them. Absent for events of
   * a service.
   */
  kind?: 'caught_up'
  /** Time of the event according to the sender's clock. */
  when?: Date
  /** The webhook that sent the event. */
  webhook: { id?: string; name?: string }
  service: ServiceName
  layerId?: number
  /** The URL of the changes; percent-decoded if the sender encoded the whole URL. */
  changesUrl?: string
  /** The URL of the geoprocessing job's status. */
  statusUrl?: string
  jobId?: string
  taskName?: string
  /** The parsed entry of the payload, unchanged. */
  raw: unknown
}

/**
 * The result of a geoprocessing job. Its names are always strings, in every dialect; like the names of a service, they
 * are empty if the payload lacks them.
 */
export interface JobEvent<T extends JobChangeType = JobChangeType> extends WebhookEvent<T> {
  jobId: string
  taskName: string
}

/** The event that a handler for the change types `T` receives, as a union of one type per change type. */
export type HandledEvent<T extends string> = T extends JobChangeType ? JobEvent<T> : WebhookEvent<T>

/** A payload and its events. */
export interface Parsed<Payload = unknown> {
  /** The parsed payload. */
  payload: Payload
  /** The change types of the events, in order and without duplicates. */
  changeTypes: string[]
  /** Contains at least one event: a payload of unknown shape becomes one event with an empty change type. */
  events: WebhookEvent[]
}

/**
 * Reads the service dialect: one object per service, in which `events` is an array of `{eventType, when}`
 * (docs/senders.md, "Payloads"). Also reads form fields, and older payloads with `changeType`. An object of unknown
 * shape becomes one event with an empty change type, which only wildcard handlers receive.
 */
export function readService(payload: Json): WebhookEvent[] {
  const shared = readShared(payload)
  const events = readList(payload.events)
  if (Array.isArray(events) && events.length > 0) {
    return events.map((entry) => {
      const { eventType, changeType, when } = toFields(entry)
      return toEvent(
        readName(entry) || readName(eventType) || readName(changeType),
        shared,
        readTime(when),
        entry,
      )
    })
  }
  const changeTypes = [...new Set(readNames(readList(payload.changeTypes)))]
  if (changeTypes.length === 0) changeTypes.push(readName(payload.changeType))
  return changeTypes.map((changeType) => toEvent(changeType, shared, undefined, payload))
}

/** The members that all events of a payload object share. */
interface SharedMembers extends Pick<WebhookEvent, 'webhook' | 'service'> {
  /** Optional members of the event. Those that are undefined are omitted from it. */
  details: { [K in Exclude<keyof WebhookEvent, 'webhook' | 'service'>]?: WebhookEvent[K] | undefined }
}

function readShared(payload: Json): SharedMembers {
  return {
    webhook: assignDefined({}, { id: readText(payload.id), name: readText(payload.name) }),
    service: {
      folderName: readText(payload.folderName) ?? '',
      serviceName: readText(payload.serviceName) ?? '',
      serviceType: readText(payload.serviceType) ?? '',
    },
    details: {
      when: readTime(payload.when) ?? readTime(payload.lastUpdatedTime),
      layerId: readInteger(payload.layerId),
      changesUrl: readUrl(payload.changesUrl),
      statusUrl: readUrl(payload.statusURL) ?? readUrl(payload.statusUrl),
      jobId: readText(payload.jobId),
      taskName: readText(payload.taskName),
    },
  }
}

function toEvent(
  changeType: string,
  { webhook, service, details }: SharedMembers,
  when: Date | undefined,
  raw: unknown,
): WebhookEvent {
  const event: WebhookEvent = assignDefined({ changeType, webhook, service, raw }, details)
  if (when) event.when = when
  return event
}

/**
 * Reads the hosted dialect: an array with one object per webhook and layer, in which `events` is an array of names
 * (docs/senders.md, "Payloads"). The default service type is `FeatureServer`, because only feature services are hosted.
 */
export function readHosted(items: readonly unknown[]): WebhookEvent[] {
  if (items.length === 0) return readService({})
  return items.flatMap((item) => {
    if (!isObject(item)) return readService({ events: [item] })
    const events = readService({ serviceType: 'FeatureServer', ...item })
    return events.map((event) => ({ ...event, raw: item }))
  })
}

/**
 * Reads the organization dialect: `{info, events}`, in which each event names an operation on a portal item
 * (docs/senders.md, "Payloads"). The service names are empty, because these events come from a portal.
 *
 * @returns undefined if the payload is in another dialect
 */
export function readOrganization(payload: Json): WebhookEvent[] | undefined {
  const { info, events } = payload
  if (!isObject(info) || !Array.isArray(events) || events.length === 0) return undefined
  return events.map((entry) => {
    const { operation, when } = toFields(entry)
    const event: WebhookEvent = {
      changeType: readName(operation) || readName(entry),
      webhook: assignDefined({}, { id: readText(info.webhookId), name: readText(info.webhookName) }),
      service: { folderName: '', serviceName: '', serviceType: '' },
      raw: entry,
    }
    return assignDefined(event, { when: readTime(when) ?? readTime(info.when) })
  })
}

// The readers below return undefined for missing and invalid values, unless noted otherwise.

/** Returns an empty object if the value is not an object. */
export const toFields = (value: unknown): Json => (isObject(value) ? value : {})

/** Reads a non-empty string, or a number as a string. */
function readText(value: unknown): string | undefined {
  if (typeof value === 'number') return String(value)
  return typeof value === 'string' && value !== '' ? value : undefined
}

/** Reads an integer from a number or a string: form fields are always strings. */
function readInteger(value: unknown): number | undefined {
  const number = typeof value === 'string' && /^-?\d+$/.test(value) ? Number(value) : value
  return Number.isSafeInteger(number) ? (number as number) : undefined
}

// `Date.parse` also accepts some texts that are not ISO 8601 ("room 12"), and engines differ in which texts they
// accept.
const ISO_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d/

/** Reads a time in milliseconds since 1970 or in ISO 8601. */
function readTime(value: unknown): Date | undefined {
  const milliseconds = readInteger(value)
  if (milliseconds === undefined && !ISO_TIME.test(readText(value) ?? '')) return undefined
  const date = new Date(milliseconds ?? (value as string))
  return Number.isNaN(date.getTime()) ? undefined : date
}

/**
 * Reads a URL. A URL that is percent-encoded as a whole (`https%3a%2f%2f…`) is decoded; any other URL is returned
 * unchanged, ready to fetch. Only ASCII is decoded: other characters must stay encoded in a URL, and
 * `decodeURIComponent` would throw for the invalid sequences of some senders (docs/senders.md, "Payloads").
 */
function readUrl(value: unknown): string | undefined {
  if (typeof value !== 'string' || value === '') return undefined
  return /^https?%3a/i.test(value) ? value.replace(/%[2-7][0-9a-f]/gi, decodeURIComponent) : value
}

/** Reads a name and trims it; returns an empty string if the value is not a string. */
const readName = (value: unknown): string => (typeof value === 'string' ? value.trim() : '')

/** Reads names from an array or a comma-separated string. Empty names are skipped. */
function readNames(value: unknown): string[] {
  const list = typeof value === 'string' ? value.split(',') : Array.isArray(value) ? value : []
  return list.map(readName).filter(Boolean)
}

/** Assigns `fields` to `target`, except those that are undefined. */
function assignDefined<T extends object>(target: T, fields: { [K in keyof T]?: T[K] | undefined }): T {
  for (const name in fields) {
    const value = fields[name]
    if (value !== undefined) target[name] = value
  }
  return target
}

/**
 * Parses the text of a form field if it contains a JSON array. Returns any other value unchanged.
 *
 * @throws {WebhookError} `payload_malformed` if the array is nested too deep or contains a forbidden key
 */
function readList(value: unknown): unknown {
  if (typeof value !== 'string' || !/^\s*\[/.test(value)) return value
  const parsed = tryJson(value)
  if (parsed === undefined) return value
  requireSafe(parsed)
  return parsed
}

import { configInvalid } from '../errors.ts'
import {
  checkOptions,
  isFilledText,
  isText,
  must,
  type OptionNames,
  oneOf,
  type Rule,
  requireValue,
} from '../options.ts'
import { type ChangeType, WILDCARD } from '../payload/events.ts'
import { DIALECTS, type Dialect } from '../shared/senders.ts'
import { percentEncode } from './signer.ts'

/** The type of a payload in each dialect. */
export interface Payloads {
  service: Record<string, unknown>
  hosted: Record<string, unknown>[]
  organization: Record<string, unknown>
}

const WRITERS: { [D in Dialect]: (...args: Parameters<typeof writeService>) => Payloads[D] } = {
  service: writeService,
  hosted: writeHosted,
  organization: writeOrganization,
}

/**
 * Creates a payload like those that services send, with the members in the same order (docs/senders.md, "Payloads").
 *
 * @param changeTypes the events: a change type, an event with its own time, or a non-empty list of these
 * @param details the webhook, the service and the dialect of the payload; all members have defaults
 * @returns an object or, in the hosted dialect, an array with one item per layer
 * @throws {WebhookError} `config_invalid` for an empty list of events or an invalid detail
 * @example
 * ```ts
 * import { createPayload } from 'geohook/testing'
 *
 * createPayload('FeaturesCreated', { serviceName: 'Parcels' })
 * createPayload('esriJobSucceeded', { serviceName: 'Analysis', jobId: 'j1' })
 * createPayload(['FeaturesCreated', { changeType: 'FeaturesDeleted', when: 1730385704000 }])
 * createPayload('FeaturesCreated', { dialect: 'hosted', layerIds: [0, 1] })
 * createPayload('add', { dialect: 'organization' })
 * ```
 */
export function createPayload<D extends Dialect = 'service'>(
  changeTypes: PayloadEvents,
  details: PayloadDetails<D> = {},
): Payloads[D] {
  requireDetails(details)
  const events = toEvents(changeTypes, details.when ?? Date.now())
  const dialect: Dialect = details.dialect ?? 'service'
  return WRITERS[dialect](events, details) as Payloads[D]
}

/** The part of `changesUrl` that is percent-encoded: only the query, the whole URL, or none of it. */
export type ChangesUrlEncoding = 'partial' | 'whole' | 'none'

/** An event with its own time. Services collect events for a while and send them together. */
export interface PayloadEvent {
  changeType: ChangeType
  /** Time of the event in milliseconds since 1970. Default: `when` of {@link PayloadDetails}. */
  when?: number | undefined
}

/** One event, or a list of events in the order in which to send them. */
export type PayloadEvents = ChangeType | PayloadEvent | readonly (ChangeType | PayloadEvent)[]

/**
 * Details of the payload that {@link createPayload} writes. All of them are checked. Details that a dialect does not
 * contain are ignored, so that the same details can be used for all three dialects.
 */
export interface PayloadDetails<D extends Dialect = Dialect> {
  /** Default `'service'`, the dialect of docs/specification.md. */
  dialect?: D | undefined
  /** Default `'Parcels'`, or `'Analysis'` for a geoprocessing service. */
  serviceName?: string | undefined
  /** Default `'FeatureServer'`, or `'GPServer'` for the result of a job. */
  serviceType?: 'FeatureServer' | 'GPServer' | undefined
  /** Default `''`, the root folder. In the hosted dialect, it appears only in the URL. */
  folderName?: string | undefined
  /** The webhook's name. Default `'webhook'`. */
  name?: string | undefined
  /** The webhook's id. Job results and hosted payloads do not contain it. Default: a fixed id. */
  id?: string | undefined
  /** Time of all events that have no time of their own, in milliseconds since 1970. Default: now. */
  when?: number | undefined
  /**
   * URL of the changes or of the job's status. It is sent unchanged, and the details that would otherwise form the URL
   * are ignored.
   */
  url?: string | undefined
  /** The part of `changesUrl` that is percent-encoded. Default `'partial'`, or `'whole'` in the hosted dialect. */
  changesUrl?: ChangesUrlEncoding | undefined
  /** The first and the last generation in `changesUrl`, whole numbers from 0. Default `[1, 2]`. */
  serverGens?: readonly [number, number] | undefined
  /**
   * The part of the URL before `/services`. Default `'https://server.example/server/rest'`, or
   * `'https://olserver.example/<orgId>/rest'` in the hosted dialect.
   */
  serverUrl?: string | undefined
  /** Geoprocessing only. Default `'j0'`. */
  jobId?: string | undefined
  /** Geoprocessing only. Default `'Task'`. */
  taskName?: string | undefined
  /** Hosted only. Default `'myorgId'`. */
  orgId?: string | undefined
  /** Hosted only: ids of the layers, without duplicates. The payload has one item per layer. Default `[0]`. */
  layerIds?: readonly number[] | undefined
  /** Organization only. Default `'https://portal.example/portal/'`. */
  portalUrl?: string | undefined
  /** Organization only: name of the user who caused the event. Default `'admin'`. */
  username?: string | undefined
  /** Organization only: id of the user who caused the event. Default 32 zeros. */
  userId?: string | undefined
  /** Organization only: kind of object that the event affects. Default `'item'`. */
  source?: 'item' | 'group' | 'user' | (string & {}) | undefined
  /** Organization only: id of the object that the event affects. Default 32 zeros. */
  itemId?: string | undefined
}

/** Largest time of a Date, in milliseconds before or after 1970 (ECMA-262, "Time Values and Time Range"). */
const MAX_TIME = 8.64e15

const isTime: Rule = must(
  'be a whole number of milliseconds since 1970, in the range of Date',
  (value) => Number.isInteger(value) && Math.abs(value as number) <= MAX_TIME,
)

const isWholeNumber = (value: unknown): boolean => Number.isSafeInteger(value) && (value as number) >= 0

const areWholeNumbers: Rule = must(
  'be a non-empty array of whole numbers, each 0 or greater',
  (value) => Array.isArray(value) && value.length > 0 && value.every(isWholeNumber),
)

/** The rule of URLs to which a path can be appended. */
const isBaseUrl: Rule = must(
  'be an http or https URL without a query or fragment',
  (value) => typeof value === 'string' && /^https?:\/\/[^\s?#]+$/i.test(value) && URL.canParse(value),
)

const DETAILS: OptionNames<PayloadDetails> = {
  dialect: oneOf(...DIALECTS),
  serviceName: isFilledText,
  serviceType: oneOf('FeatureServer', 'GPServer'),
  folderName: isText, // an empty folder name means the root folder
  name: isFilledText,
  id: isFilledText,
  when: isTime,
  url: isFilledText,
  changesUrl: oneOf('partial', 'whole', 'none'),
  serverGens: areWholeNumbers,
  serverUrl: isBaseUrl,
  jobId: isFilledText,
  taskName: isFilledText,
  orgId: isFilledText,
  layerIds: areWholeNumbers,
  portalUrl: isBaseUrl,
  username: isFilledText,
  userId: isFilledText,
  source: isFilledText,
  itemId: isFilledText,
}

/**
 * Checks all details, including those that the dialect does not use.
 *
 * @throws {WebhookError} `config_invalid`
 */
function requireDetails(details: PayloadDetails): void {
  const { orgId, layerIds = [], serverGens } = checkOptions(details, DETAILS, 'detail')
  // `orgId` becomes part of a URL path.
  if (orgId !== undefined && /[\s/?#]/.test(orgId))
    throw configInvalid('orgId must not contain white space, a slash, ? or #')
  if (new Set(layerIds).size < layerIds.length) throw configInvalid('layerIds must not contain a layer twice')
  if (serverGens === undefined) return
  const [first, last, ...rest] = serverGens
  if (last === undefined || rest.length > 0)
    throw configInvalid('serverGens must be two numbers: the first and the last generation')
  if (first > last) throw configInvalid('serverGens: the first generation must not be greater than the last')
}

/** An event with its time, independent of the dialect. */
interface TimedEvent {
  changeType: string
  /** Milliseconds since 1970. */
  when: number
}

/**
 * Checks the events that a caller passes, and converts them to {@link TimedEvent}.
 *
 * @param when time of all events that have no time of their own, in milliseconds since 1970
 * @throws {WebhookError} `config_invalid` for an empty list, an invalid change type or an invalid time
 */
function toEvents(changeTypes: PayloadEvents, when: number): TimedEvent[] {
  const entries: readonly unknown[] = Array.isArray(changeTypes) ? changeTypes : [changeTypes]
  if (entries.length === 0) throw configInvalid('changeTypes is empty', 'Pass at least one event.')
  return entries.map((entry) => {
    const event = typeof entry === 'object' && entry !== null ? entry : { changeType: entry }
    const { changeType, when: eventTime = when } = event as { changeType?: unknown; when?: unknown }
    return {
      changeType: requireChangeType(changeType),
      when: requireValue('when', eventTime, isTime) as number,
    }
  })
}

function requireChangeType(changeType: unknown): string {
  const name = requireValue('changeType', changeType, isFilledText) as string
  if (name.trim() !== name) throw configInvalid('changeType has white space around it')
  if (name === WILDCARD)
    throw configInvalid(
      'changeType must not be the wildcard *',
      'Webhooks subscribe to the wildcard. An event names its own change type.',
    )
  return name
}

/** Returns the time of the newest event. */
const newestTime = (events: readonly TimedEvent[]): number =>
  events.reduce((time, { when }) => Math.max(time, when), Number.NEGATIVE_INFINITY)

/** Returns the change types without duplicates, in order. */
const uniqueNames = (events: readonly TimedEvent[]): string[] => [
  ...new Set(events.map(({ changeType }) => changeType)),
]

/**
 * Returns true if the events are results of a geoprocessing job. Decides by the service type if one is given, otherwise
 * by the change types.
 */
function isJob(events: readonly TimedEvent[], serviceType: string | undefined): boolean {
  if (serviceType !== undefined) return serviceType === 'GPServer'
  return events.some(({ changeType }) => changeType.startsWith('esriJob'))
}

/**
 * Writes the service dialect: an object in which `events` is an array of `{eventType, when}` (docs/senders.md,
 * "Payloads"). A job result has the members of a job in place of `changesUrl` and `id`.
 */
function writeService(events: readonly TimedEvent[], details: PayloadDetails): Record<string, unknown> {
  const entries = events.map(({ changeType, when }) => ({ eventType: changeType, when }))
  return isJob(events, details.serviceType) ? writeJob(entries, details) : writeFeatures(entries, details)
}

const SERVER_URL = 'https://server.example/server/rest'

function writeFeatures(events: readonly object[], details: PayloadDetails): Record<string, unknown> {
  const { serverUrl = SERVER_URL, serverGens = [1, 2], serviceName = 'Parcels' } = details
  const service = serviceUrl(serverUrl, details.folderName, serviceName, 'FeatureServer')
  return {
    serviceType: 'FeatureServer',
    changesUrl: details.url ?? changesUrl(service, serverGens, details.changesUrl ?? 'partial'),
    name: details.name ?? 'webhook',
    id: details.id ?? '00000000-0000-4000-8000-000000000000',
    folderName: details.folderName ?? '',
    serviceName,
    events,
  }
}

function writeJob(events: readonly object[], details: PayloadDetails): Record<string, unknown> {
  const { serverUrl = SERVER_URL, serviceName = 'Analysis', taskName = 'Task', jobId = 'j0' } = details
  const service = serviceUrl(serverUrl, details.folderName, serviceName, 'GPServer')
  return {
    serviceType: 'GPServer',
    jobId,
    statusURL: details.url ?? `${service}/${taskName}/jobs/${jobId}`,
    name: details.name ?? 'webhook',
    taskName,
    folderName: details.folderName ?? '',
    serviceName,
    events,
  }
}

/**
 * Writes the hosted dialect: an array with one item per layer, in which `events` is an array of names
 * (docs/senders.md, "Payloads"). Events have no times of their own; `lastUpdatedTime` is the time of the newest
 * event.
 *
 * @throws {WebhookError} `config_invalid` for a job result, because only feature services are hosted
 */
function writeHosted(events: readonly TimedEvent[], details: PayloadDetails): Record<string, unknown>[] {
  if (isJob(events, details.serviceType))
    throw configInvalid('the hosted dialect has no geoprocessing jobs', "Use the dialect 'service' for jobs.")
  const { name = 'webhook', orgId = 'myorgId', serviceName = 'Parcels', layerIds = [0] } = details
  const { serverUrl = `https://olserver.example/${orgId}/rest`, serverGens = [1, 2] } = details
  const service = serviceUrl(serverUrl, details.folderName, serviceName, 'FeatureServer')
  const url = details.url ?? changesUrl(service, serverGens, details.changesUrl ?? 'whole', '&async=true')
  return layerIds.map((layerId) => ({
    name,
    layerId,
    orgId,
    serviceName,
    lastUpdatedTime: newestTime(events),
    changesUrl: url,
    events: uniqueNames(events),
  }))
}

const ID = '0'.repeat(32)

/**
 * Writes the organization dialect: `{info, events}`, in which each event is an operation on a portal item
 * (docs/senders.md, "Payloads"). The change type names the operation. `info.when` is the sending time, never earlier
 * than the newest event.
 */
function writeOrganization(events: readonly TimedEvent[], details: PayloadDetails): Record<string, unknown> {
  const { username = 'admin', userId = ID, source = 'item', itemId = ID } = details
  const newest = newestTime(events)
  return {
    info: {
      webhookName: details.name ?? 'webhook',
      webhookId: details.id ?? ID,
      portalURL: details.portalUrl ?? 'https://portal.example/portal/',
      when: Math.max(newest, details.when ?? newest),
    },
    events: events.map(({ changeType, when }) => ({
      username,
      userId,
      when,
      operation: changeType,
      source,
      id: itemId,
      properties: {},
    })),
  }
}

/** Returns the URL of a service, without a trailing slash. */
function serviceUrl(
  serverUrl: string,
  folderName: string | undefined,
  serviceName: string,
  serviceType: 'FeatureServer' | 'GPServer',
): string {
  let server = serverUrl
  while (server.endsWith('/')) server = server.slice(0, -1)
  return `${server}/services/${folderName ? `${folderName}/` : ''}${serviceName}/${serviceType}`
}

/**
 * Returns the URL of the changes, percent-encoded like a sender's (docs/senders.md, "Payloads").
 *
 * @param query text to append after the generations, such as further parameters
 */
function changesUrl(
  service: string,
  [first, last]: readonly [number, number],
  encoding: ChangesUrlEncoding,
  query = '',
): string {
  // Partial encoding leaves the comma, because a query may contain commas but not brackets (RFC 3986 section 3.4).
  const [open, close] = encoding === 'partial' ? ['%5B', '%5D'] : ['[', ']']
  const url = `${service}/extractChanges?serverGens=${open}${first},${last}${close}${query}`
  return encoding === 'whole' ? percentEncode(url) : url
}

import { configInvalid } from '../errors.ts'
import { type ChangesUrl, joinChangesUrls, joinKeyOf, parseChangesUrl } from '../payload/changes-url.ts'
import type { WebhookEvent } from '../payload/events.ts'
import { isObject } from '../shared/json.ts'
import type { Settings } from './options.ts'
import { type Origins, refuse } from './origins.ts'
import type { ChangesSource } from './types.ts'

/** Parameters of a `changesUrl` that are passed on, by name in lower case. Others could change what is returned. */
const PASSED: Readonly<Record<string, string>> = {
  async: 'async',
  gdbversion: 'gdbVersion',
  layerqueries: 'layerQueries',
  transporttype: 'transportType',
}

/** Which changes of a `changesUrl` to return; a missing one is true (docs/senders.md). */
const KINDS = ['returnInserts', 'returnUpdates', 'returnDeletes']

/**
 * The fields of an extraction for the events of a service. What to return is always explicit, because the vendor's
 * products differ in the defaults.
 */
export function toParameters(request: ServiceRequest, settings: Settings): Record<string, string> {
  const { parameters, hasAttachments } = request
  // The generations of a layer say that all its changes were handled, so all of them are extracted.
  const isAll = settings.inbox !== undefined
  const given = (name: string): string | undefined => parameters.get(name.toLowerCase())?.toLowerCase()
  const fields: Record<string, string> = { ...settings.parameters }
  for (const [name, spelled] of Object.entries(PASSED)) {
    const value = parameters.get(name)
    if (value !== undefined && !(isAll && name === 'layerqueries')) fields[spelled] = value
  }
  for (const name of KINDS) fields[name] = String(isAll || given(name) !== 'false')
  const wantsAttachments = hasAttachments || given('returnAttachments') === 'true'
  fields.returnAttachments = String(settings.attachments ?? wantsAttachments)
  return fields
}

/** The request for the changes of all events of one service and one version of its data. */
export interface ServiceRequest extends ChangesUrl {
  /** Whether one of the events is about attachments. */
  hasAttachments: boolean
  /** Generation up to which the handler has handled all changes. Default: up to which any handler has. */
  from?: number | undefined
}

/** Change types of events that have changes. Those of other known types, such as schema changes, have none. */
const WITHOUT_CHANGES =
  /^(?:LayerSchemaChanged|LayerDefinitionChanged|FeatureServiceDefinitionChanged|esriJob.*)$/i

/**
 * Reads what to extract for events, one request for each service and version of its data.
 *
 * @throws {WebhookError} `changes_url_refused`
 */
export function readRequests(source: ChangesSource, origins: Origins): ServiceRequest[] {
  const requests = new Map<string, Map<string, ChangesUrl>>()
  const withAttachments = new Set<string>()
  // The events of a payload mostly have the same URL, which can be long.
  const known = new Map<string, ChangesUrl>()
  for (const event of eventsOf(source)) {
    const { changesUrl = '', changeType } = event
    const url = known.get(changesUrl) ?? readUrl(event, origins)
    if (!url) continue
    known.set(changesUrl, url)
    const key = joinKeyOf(url)
    const urls = requests.get(key) ?? new Map<string, ChangesUrl>()
    requests.set(key, urls)
    // The last one is the newest.
    urls.delete(changesUrl)
    urls.set(changesUrl, url)
    if (/^Attachments/i.test(changeType)) withAttachments.add(key)
  }
  return [...requests].map(([key, urls]) => ({
    ...joinChangesUrls([...urls.values()]),
    hasAttachments: withAttachments.has(key),
  }))
}

/** @throws {WebhookError} `config_invalid` */
function eventsOf(source: ChangesSource): readonly WebhookEvent[] {
  const events = isObject(source) && 'events' in source ? source.events : source
  const list: unknown[] = Array.isArray(events) ? events : [events]
  if (!list.every(isObject))
    throw configInvalid('of(source): source must be an event, a list of events or a delivery')
  return list as unknown as WebhookEvent[]
}

function readUrl({ changesUrl, changeType }: WebhookEvent, origins: Origins): ChangesUrl | undefined {
  if (changesUrl === undefined) {
    if (WITHOUT_CHANGES.test(changeType)) return undefined
    throw refuse(
      `the event ${changeType} has no changesUrl`,
      'Check that the service tracks changes: its capabilities must contain ChangeTracking.',
    )
  }
  origins.require(changesUrl, 'changesUrl')
  const url = parseChangesUrl(changesUrl)
  if (url) return url
  throw refuse(
    'the changesUrl is not a URL of extractChanges with generations',
    'Run "npx geohook explain" with the saved request to see its payload.',
  )
}

import {
  type ChangesUrl,
  joinChangesUrls,
  joinKeyOf,
  parseChangesUrl,
  writeChangesUrl,
} from '../payload/changes-url.ts'
import type { WebhookEvent } from '../payload/events.ts'
import type { Delivery, JoinedDeliveries } from './types.ts'

/** An event and its delivery. */
export interface ArrivedEvent {
  event: WebhookEvent
  delivery: Delivery
}

/** The arguments for one call of a handler. */
export interface JoinedEvent extends ArrivedEvent {
  together: JoinedDeliveries
}

interface WithUrl extends ArrivedEvent {
  url?: ChangesUrl | undefined
}

/**
 * Joins events into one if they have the same tenant, feature service and version of its data. The result is the newest
 * event, with a `changesUrl` that covers all of them. Events without a valid `changesUrl` stay as they are.
 *
 * @param arrived oldest first
 */
export function joinEvents(arrived: readonly ArrivedEvent[]): JoinedEvent[] {
  const groups = new Map<unknown, WithUrl[]>()
  for (const { event, delivery } of arrived) {
    const url = event.changesUrl === undefined ? undefined : parseChangesUrl(event.changesUrl)
    const key = url ? JSON.stringify([joinKeyOf(url), delivery.tenant]) : event
    const group = groups.get(key)
    if (group) group.push({ event, delivery, url })
    else groups.set(key, [{ event, delivery, url }])
  }
  return [...groups.values()].map(join)
}

function join(group: readonly WithUrl[]): JoinedEvent {
  const newest = group[group.length - 1] as WithUrl
  const events = group.map(({ event }) => event)
  const deliveries = [...new Set(group.map(({ delivery }) => delivery))]
  const event = { ...newest.event, ...joinUrls(group) }
  if (events.some(({ layerId }) => layerId !== event.layerId)) delete event.layerId
  return { event, delivery: newest.delivery, together: { deliveries, events } }
}

/** Keeps the newest URL as it is if all URLs are the same. */
function joinUrls(group: readonly WithUrl[]): { changesUrl?: string } {
  const urls = group.flatMap(({ url }) => url ?? [])
  if (new Set(group.map(({ event }) => event.changesUrl)).size <= 1 && !mustAddAttachments(group)) return {}
  const joined = joinChangesUrls(urls)
  // The joined event has only one change type, so its URL must say that another event was about attachments.
  if (!mustAddAttachments(group)) return { changesUrl: writeChangesUrl(joined) }
  const parameters = new Map([...joined.parameters, ['returnattachments', 'true']])
  return { changesUrl: writeChangesUrl({ ...joined, parameters }) }
}

const isAboutAttachments = ({ event }: WithUrl): boolean => event.changeType.startsWith('Attachments')

/** True if some of the events are about attachments, and the newest is not. */
const mustAddAttachments = (group: readonly WithUrl[]): boolean =>
  group.some(isAboutAttachments) && !isAboutAttachments(group[group.length - 1] as WithUrl)

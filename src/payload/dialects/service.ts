import type { WebhookEvent } from '../event.ts'
import {
  assignDefined,
  type Fields,
  readInteger,
  readList,
  readName,
  readNames,
  readText,
  readTime,
  readUrl,
  toFields,
} from './fields.ts'

/**
 * Reads the service dialect: one object per service, in which `events` is an array of `{eventType, when}`
 * (docs/senders.md, "Payloads"). Also reads form fields, and older payloads with `changeType`. An object of unknown
 * shape becomes one event with an empty change type, which only wildcard handlers receive.
 */
export function readService(payload: Fields): WebhookEvent[] {
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

function readShared(payload: Fields): SharedMembers {
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

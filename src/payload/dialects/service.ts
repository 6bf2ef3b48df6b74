import type { WebhookEvent } from '../event.ts'
import { addPresent, type Fields, integer, list, names, text, time, toFields, toName, url } from './fields.ts'

/**
 * The service dialect: one object for one service, `events` an array of `{eventType, when}` (field facts,
 * "Payloads"). It is read tolerantly, so it also serves plain form fields, older payloads with `changeType`, and
 * objects of unknown shape: those become one event without a change type, and still reach the wildcard's handlers.
 */
export function readService(payload: Fields): WebhookEvent[] {
  const base = readBase(payload)
  const events = list(payload.events)
  if (Array.isArray(events) && events.length > 0) {
    return events.map((entry) => {
      const { eventType, changeType, when } = toFields(entry)
      return toEvent(toName(entry) || toName(eventType) || toName(changeType), base, time(when), entry)
    })
  }
  const changeTypes = [...new Set(names(list(payload.changeTypes)))]
  if (changeTypes.length === 0) changeTypes.push(toName(payload.changeType))
  return changeTypes.map((changeType) => toEvent(changeType, base, undefined, payload))
}

/** What all events of one payload object share. */
interface Base extends Pick<WebhookEvent, 'webhook' | 'service'> {
  /** What is not undefined of it goes into each event. */
  details: { [K in Exclude<keyof WebhookEvent, 'webhook' | 'service'>]?: WebhookEvent[K] | undefined }
}

function readBase(payload: Fields): Base {
  return {
    webhook: addPresent({}, { id: text(payload.id), name: text(payload.name) }),
    service: {
      folderName: text(payload.folderName) ?? '',
      serviceName: text(payload.serviceName) ?? '',
      serviceType: text(payload.serviceType) ?? '',
    },
    details: {
      when: time(payload.when) ?? time(payload.lastUpdatedTime),
      layerId: integer(payload.layerId),
      changesUrl: url(payload.changesUrl),
      statusUrl: url(payload.statusURL) ?? url(payload.statusUrl),
      jobId: text(payload.jobId),
      taskName: text(payload.taskName),
    },
  }
}

function toEvent(
  changeType: string,
  { webhook, service, details }: Base,
  when: Date | undefined,
  raw: unknown,
): WebhookEvent {
  const event: WebhookEvent = addPresent({ changeType, webhook, service, raw }, details)
  if (when) event.when = when
  return event
}

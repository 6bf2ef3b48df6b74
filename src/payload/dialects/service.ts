import type { WebhookEvent } from '../event.ts'
import { type Fields, integer, list, names, text, time, toFields, url } from './fields.ts'

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
      const fields = toFields(entry)
      const [changeType] = names([entry, fields.eventType, fields.changeType])
      return toEvent(base, changeType, time(fields.when), entry)
    })
  }
  const changeTypes = [...new Set(names(list(payload.changeTypes)))]
  if (changeTypes.length === 0) changeTypes.push(names([payload.changeType])[0] ?? '')
  return changeTypes.map((changeType) => toEvent(base, changeType, undefined, payload))
}

type Base = Omit<WebhookEvent, 'changeType' | 'raw'>

/** What all events of one payload object share. */
function readBase(payload: Fields): Base {
  const base: Base = {
    webhook: present({ id: text(payload.id), name: text(payload.name) }),
    service: {
      folderName: text(payload.folderName) ?? '',
      serviceName: text(payload.serviceName) ?? '',
      serviceType: text(payload.serviceType) ?? '',
    },
  }
  const optional = present({
    when: time(payload.when) ?? time(payload.lastUpdatedTime),
    layerId: integer(payload.layerId),
    changesUrl: url(payload.changesUrl),
    statusUrl: url(payload.statusURL) ?? url(payload.statusUrl),
    jobId: text(payload.jobId),
    taskName: text(payload.taskName),
  })
  return { ...optional, ...base }
}

function toEvent(
  base: Base,
  changeType: string | undefined,
  when: Date | undefined,
  raw: unknown,
): WebhookEvent {
  return { changeType: changeType ?? '', ...base, ...present({ when: when ?? base.when }), raw }
}

/** Leaves out what is undefined, so that an absent field is absent. */
export function present<T extends object>(fields: T): { [K in keyof T]?: NonNullable<T[K]> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]?: NonNullable<T[K]>
  }
}

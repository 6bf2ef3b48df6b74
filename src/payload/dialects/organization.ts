import type { WebhookEvent } from '../event.ts'
import { type Fields, isFields, names, text, time, toFields } from './fields.ts'
import { present } from './service.ts'

/**
 * The organization dialect: `{info, events}`, where each event names an operation on a portal item (field facts,
 * "Payloads"). It comes from no service, so the service's names are empty.
 *
 * @returns undefined where the payload is not of this dialect
 */
export function readOrganization(payload: Fields): WebhookEvent[] | undefined {
  const { info, events } = payload
  if (!isFields(info) || !Array.isArray(events) || events.length === 0) return undefined
  return events.map((entry) => {
    const fields = toFields(entry)
    return {
      changeType: names([fields.operation, entry])[0] ?? '',
      ...present({ when: time(fields.when) ?? time(info.when) }),
      webhook: present({ id: text(info.webhookId), name: text(info.webhookName) }),
      service: { folderName: '', serviceName: '', serviceType: '' },
      raw: entry,
    }
  })
}

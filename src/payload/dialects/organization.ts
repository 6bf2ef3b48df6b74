import type { WebhookEvent } from '../event.ts'
import { addPresent, type Fields, isFields, text, time, toFields, toName } from './fields.ts'

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
    const { operation, when } = toFields(entry)
    const event: WebhookEvent = {
      changeType: toName(operation) || toName(entry),
      webhook: addPresent({}, { id: text(info.webhookId), name: text(info.webhookName) }),
      service: { folderName: '', serviceName: '', serviceType: '' },
      raw: entry,
    }
    return addPresent(event, { when: time(when) ?? time(info.when) })
  })
}

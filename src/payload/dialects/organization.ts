import type { WebhookEvent } from '../event.ts'
import { assignDefined, type Fields, isFields, readName, readText, readTime, toFields } from './fields.ts'

/**
 * Reads the organization dialect: `{info, events}`, in which each event names an operation on a portal item
 * (docs/senders.md, "Payloads"). The service names are empty, because these events come from a portal.
 *
 * @returns undefined if the payload is in another dialect
 */
export function readOrganization(payload: Fields): WebhookEvent[] | undefined {
  const { info, events } = payload
  if (!isFields(info) || !Array.isArray(events) || events.length === 0) return undefined
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

import type { WebhookEvent } from '../event.ts'
import { isFields } from './fields.ts'
import { readService } from './service.ts'

/**
 * The hosted dialect: an array with one object per webhook and layer, `events` an array of names (field facts,
 * "Payloads"). Only feature services send it, so that is the service type where an item names none.
 */
export function readHosted(items: readonly unknown[]): WebhookEvent[] {
  if (items.length === 0) return readService({})
  return items.flatMap((item) => {
    if (!isFields(item)) return readService({ events: [item] })
    const events = readService({ serviceType: 'FeatureServer', ...item })
    return events.map((event) => ({ ...event, raw: item }))
  })
}

import type { WebhookEvent } from '../event.ts'
import { isFields } from './fields.ts'
import { readService } from './service.ts'

/**
 * Reads the hosted dialect: an array with one object per webhook and layer, in which `events` is an array of names
 * (docs/senders.md, "Payloads"). The default service type is `FeatureServer`, because only feature services are hosted.
 */
export function readHosted(items: readonly unknown[]): WebhookEvent[] {
  if (items.length === 0) return readService({})
  return items.flatMap((item) => {
    if (!isFields(item)) return readService({ events: [item] })
    const events = readService({ serviceType: 'FeatureServer', ...item })
    return events.map((event) => ({ ...event, raw: item }))
  })
}

import type { PayloadDetails } from './details.ts'
import { newestTime, type TimedEvent } from './events.ts'

const ID = '0'.repeat(32)

/**
 * Writes the organization dialect: `{info, events}`, in which each event is an operation on a portal item
 * (docs/senders.md, "Payloads"). The change type names the operation. `info.when` is the sending time, never earlier
 * than the newest event.
 */
export function writeOrganization(
  events: readonly TimedEvent[],
  details: PayloadDetails,
): Record<string, unknown> {
  const { username = 'admin', userId = ID, source = 'items', itemId = ID } = details
  const newest = newestTime(events)
  return {
    info: {
      webhookName: details.name ?? 'webhook',
      webhookId: details.id ?? ID,
      portalURL: details.portalUrl ?? 'https://portal.example/portal/',
      when: Math.max(newest, details.when ?? newest),
    },
    events: events.map(({ changeType, when }) => ({
      username,
      userId,
      when,
      operation: changeType,
      source,
      id: itemId,
      properties: {},
    })),
  }
}

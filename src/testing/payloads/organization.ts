import type { PayloadDetails } from './details.ts'
import { newest, type TimedEvent } from './events.ts'

const ID = '0'.repeat(32)

/**
 * The organization dialect: `{info, events}`, each event an operation on a portal item (field facts, "Payloads");
 * the change type is the operation. `info.when` is when the payload was sent: not before its newest event.
 */
export function writeOrganization(
  events: readonly TimedEvent[],
  details: PayloadDetails,
): Record<string, unknown> {
  const { username = 'admin', userId = ID, source = 'items', itemId = ID } = details
  const sent = newest(events)
  return {
    info: {
      webhookName: details.name ?? 'webhook',
      webhookId: details.id ?? ID,
      portalURL: details.portalUrl ?? 'https://portal.example/portal/',
      when: Math.max(sent, details.when ?? sent),
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

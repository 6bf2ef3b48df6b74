import type { Response } from 'express'
import { z } from 'zod'
import type { Attempt } from '../delivery/attempt-log.ts'
import { warn } from '../event-listeners.ts'
import type { Recipients } from '../recipients.ts'
import { check, eventSchema } from '../schemas.ts'
import type { Mock } from '../service.ts'
import { MAX_TRIGGERED, type MockEvent } from '../state/events.ts'
import { toAttemptJson } from './json.ts'
import type { ControlRequest } from './operation.ts'

const waitSchema = z
  .boolean()
  .optional()
  .meta({ description: 'Whether the response waits for the last attempt; default true' })
const singleEvent = z.object(eventSchema.shape).extend({ wait: waitSchema }).strict()

/** The body of a request: one event, or several. */
export const triggerSchema: z.ZodType = z.union([
  singleEvent,
  z.strictObject({ events: z.array(eventSchema).min(1).max(MAX_TRIGGERED), wait: waitSchema }),
])

/** Does not check the events: `findRecipients` checks them one by one, and stops at the first invalid one. */
const severalEvents = z.strictObject({
  events: z.array(z.unknown()).min(1).max(MAX_TRIGGERED),
  wait: waitSchema,
})

/** Triggers events, and waits for their deliveries unless the request says `"wait": false`. */
export async function trigger(mock: Mock, { body }: ControlRequest, res: Response): Promise<object> {
  const { wait = true, ...given } = Object.hasOwn(body as object, 'events')
    ? check<{ events: MockEvent[]; wait?: boolean }>(severalEvents, body, 'body')
    : check<MockEvent & { wait?: boolean }>(singleEvent, body, 'body')
  const recipients = mock.findRecipients('events' in given ? given.events : given)
  const delivered = mock.deliver(recipients)
  if (!wait) {
    delivered.catch(warn)
    res.status(202)
    return { deliveries: [] }
  }
  const attempts = await delivered
  const notSent = findNotSent(mock, recipients, attempts)
  return { deliveries: attempts.map(toAttemptJson), ...(notSent.length > 0 ? { notSent } : {}) }
}

/** Finds the webhooks that get no deliveries, because their last handshake failed. */
function findNotSent(
  { engine, state }: Mock,
  recipients: Recipients,
  attempts: readonly Attempt[],
): { webhookId: string; reason: string }[] {
  if (!engine.handshakes) return []
  const sent = new Set(attempts.map(({ webhookId }) => webhookId))
  return [...recipients.keys()].flatMap((webhookId) => {
    const reason = state.handshakes.of(webhookId)?.reason
    return reason === undefined || sent.has(webhookId) ? [] : [{ webhookId, reason }]
  })
}

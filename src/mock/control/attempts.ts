import type { ServerResponse } from 'node:http'
import { z } from 'zod'
import type { Attempt } from '../delivery/attempt.ts'
import { type Listeners, warn } from '../event-listeners.ts'
import type { Answer } from '../http/operation.ts'
import { check, eventSchema } from '../schemas.ts'
import type { Mock, Recipients } from '../service.ts'
import { MAX_TRIGGERED, type MockEvent } from '../state/events.ts'

/** Milliseconds between heartbeat comments, which keep proxies from closing the connection. */
const HEARTBEAT = 15_000
/** Maximum number of buffered bytes. Beyond this, the client is too slow, and its connection is closed. */
const MAX_BACKLOG = 4 * 1024 * 1024

/** Sends notices as server-sent events (HTML Living Standard, section 9.2) until the client disconnects. */
export function streamNotices(listeners: Listeners, res: ServerResponse): void {
  let id = 0
  const write = (text: string): void => {
    if (res.writableLength > MAX_BACKLOG) res.destroy()
    else res.write(text)
  }
  res.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' })
  if (res.req.method === 'HEAD') return void res.end()
  write(': connected\n\n')
  const removeListener = listeners.on((notice) => {
    const { type, ...rest } = notice
    const data = notice.type === 'attempt' ? toAttemptJson(notice.attempt) : rest
    id += 1
    write(`id: ${id}\nevent: ${type}\ndata: ${JSON.stringify(data)}\n\n`)
  })
  const heartbeat = setInterval(() => write(': still here\n\n'), HEARTBEAT)
  res.on('close', () => {
    removeListener()
    clearInterval(heartbeat)
  })
}

/** An attempt as JSON, with its body in base64. */
type AttemptJson = Omit<Attempt, 'request'> & {
  request: { method: string; headers: Record<string, string>; body: string }
}

export const toAttemptJson = ({ request: { method, headers, body }, ...attempt }: Attempt): AttemptJson => ({
  ...attempt,
  request: { method, headers, body: Buffer.from(body).toString('base64') },
})

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
export async function trigger(mock: Mock, { json }: { json: unknown }): Promise<Answer> {
  const { wait = true, ...given } = Object.hasOwn(json as object, 'events')
    ? check<{ events: MockEvent[]; wait?: boolean }>(severalEvents, json, 'body')
    : check<MockEvent & { wait?: boolean }>(singleEvent, json, 'body')
  const recipients = mock.findRecipients('events' in given ? given.events : given)
  const delivered = mock.deliver(recipients)
  if (!wait) {
    delivered.catch(warn)
    return { status: 202, body: { deliveries: [] } }
  }
  const attempts = await delivered
  const notSent = findNotSent(mock, recipients, attempts)
  return { body: { deliveries: attempts.map(toAttemptJson), ...(notSent.length > 0 ? { notSent } : {}) } }
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

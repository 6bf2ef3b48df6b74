import type { Response } from 'express'
import { z } from 'zod'
import { check, eventSchema } from '../schemas.ts'
import type { Core } from '../service.ts'
import { MAX_TRIGGERED, type MockEvent } from '../state/events.ts'
import { warn } from '../warn.ts'
import { toAttemptJson } from './attempt-json.ts'
import type { ControlRequest } from './operation.ts'

const wait = z
  .boolean()
  .optional()
  .meta({ description: 'Whether the answer waits for the last attempt; default true' })
const one = z.object(eventSchema.shape).extend({ wait }).strict()

/** An event, or several. */
export const triggerSchema: z.ZodType = z.union([
  one,
  z.strictObject({ events: z.array(eventSchema).min(1).max(MAX_TRIGGERED), wait }),
])

/** The same without a look at each event: that comes later, one by one, and ends with the first that is wrong. */
const several = z.strictObject({ events: z.array(z.unknown()).min(1).max(MAX_TRIGGERED), wait })

/** Lets things happen, and waits for what comes of them unless it is told not to. */
export async function trigger(core: Core, { body }: ControlRequest, res: Response): Promise<object> {
  const { wait: waits = true, ...given } = Object.hasOwn(body as object, 'events')
    ? check<{ events: MockEvent[]; wait?: boolean }>(several, body, 'body')
    : check<MockEvent & { wait?: boolean }>(one, body, 'body')
  const attempts = core.notify(core.select('events' in given ? given.events : given))
  if (waits) return { deliveries: (await attempts).map(toAttemptJson) }
  attempts.catch(warn) // a receiver's failure is no error
  res.status(202)
  return { deliveries: [] }
}

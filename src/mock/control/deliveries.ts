import type { Attempt } from '../delivery/attempt-log.ts'
import { AdminError } from '../http/errors.ts'
import type { Core } from '../service.ts'
import { toAttemptJson } from './attempt-json.ts'
import type { ControlOperation, ControlRequest } from './operation.ts'

const MAX_PAGE = 1000
const PAGE = 50

/** @throws {AdminError} 404 */
export function attemptOf({ engine }: Core, { id }: ControlRequest): Attempt {
  const attempt = engine.log.get(id)
  if (!attempt) throw new AdminError(404, 'there is no such delivery')
  return attempt
}

/** The parameters of the query of {@link listDeliveries}. */
export const PAGE_PARAMETERS: NonNullable<ControlOperation['query']> = {
  limit: {
    description: 'How many at most',
    schema: { type: 'integer', minimum: 1, maximum: MAX_PAGE, default: PAGE },
  },
  after: { description: 'The id of an attempt: only later ones', schema: { type: 'string' } },
  webhookId: { description: 'Only those of this webhook', schema: { type: 'string' } },
}

/** @throws {AdminError} 400 for a limit that is none, 404 where there is no attempt `after` any more */
export function listDeliveries({ engine }: Core, { query }: ControlRequest): object {
  const { limit = String(PAGE), after, webhookId } = query
  const count = Number(limit)
  if (!/^\d{1,4}$/.test(limit) || count < 1 || count > MAX_PAGE)
    throw new AdminError(400, `limit must be a number from 1 to ${MAX_PAGE}`)
  const page = engine.log.page({ limit: count, after, webhookId })
  if (!page) throw new AdminError(404, 'there is no delivery with the id after')
  return { deliveries: page.attempts.map(toAttemptJson), next: page.next ?? null }
}

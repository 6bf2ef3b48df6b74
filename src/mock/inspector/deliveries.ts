import type { Row, RowOutcome } from '../../inspector/source.ts'
import { parsePayload } from '../../payload/parse.ts'
import type { Redactor } from '../../shared/redact.ts'
import { type Attempt, type DeliveryRecord, isSuccess } from '../delivery/attempt.ts'
import type { Mock } from '../service.ts'
import { servicePath } from '../state/services.ts'

/** The attempts of one delivery in the log, oldest first. */
export type Attempts = readonly [Attempt, ...Attempt[]]

/** Groups the attempts in the log by delivery. Returns the delivery that began last first. */
export function listDeliveries({ engine }: Mock): Attempts[] {
  const deliveries = new Map<string, [Attempt, ...Attempt[]]>()
  for (const attempt of engine.log.list()) {
    const known = deliveries.get(attempt.deliveryId)
    if (known) known.push(attempt)
    else deliveries.set(attempt.deliveryId, [attempt])
  }
  return [...deliveries.values()].reverse()
}

/** Returns undefined if the log has no attempt of the delivery. */
export function findDelivery({ engine }: Mock, deliveryId: string): Attempts | undefined {
  const [first, ...others] = engine.log.list().filter((attempt) => attempt.deliveryId === deliveryId)
  return first && [first, ...others]
}

export const lastOf = (attempts: Attempts): Attempt => attempts.at(-1) as Attempt

export const OUTCOMES = {
  delivered: 'delivered',
  refused: 'refused',
  none: 'no response',
  pending: 'in flight',
}

/** The outcome of an attempt. */
export function outcomeOf(attempt: Attempt): RowOutcome {
  const { answer, milliseconds } = attempt
  if (milliseconds === undefined) return { tone: 'pending', word: OUTCOMES.pending }
  if (!answer) return { tone: 'bad', word: OUTCOMES.none }
  const { status } = answer
  if (isSuccess(attempt)) return { tone: 'good', word: OUTCOMES.delivered, status }
  return { tone: 'bad', word: OUTCOMES.refused, status }
}

export function toRow(mock: Mock, attempts: Attempts, redactor: Redactor): Row {
  const [first] = attempts
  const last = lastOf(attempts)
  const record = mock.engine.records.get(first.deliveryId)
  return {
    id: first.deliveryId,
    time: new Date(first.sentAt),
    changeTypes: record ? changeTypesOf(record) : [],
    service: record && servicePath(record.webhook),
    webhook: record?.webhook.name,
    target: redactor.text(last.hookUrl),
    outcome: outcomeOf(last),
    attempts: attempts.reduce((highest, { number }) => Math.max(highest, number), 1),
    size: last.request.body.length,
    milliseconds: last.milliseconds,
  }
}

/** Change types by payload, because parsing one for every update of the page would be slow. */
const parsed = new WeakMap<Uint8Array, readonly string[]>()

/** Reads the payload from before a fault, so that an altered delivery still shows its change types. */
function changeTypesOf({ payload, contentType }: DeliveryRecord): readonly string[] {
  const known = parsed.get(payload)
  if (known) return known
  const result = parsePayload({ body: payload, contentType })
  const changeTypes = result.ok ? result.changeTypes : []
  parsed.set(payload, changeTypes)
  return changeTypes
}

import { type NamesVerdict, type ProcessLog, readLog, type Sent } from './check.ts'

export interface OrderVerdict extends NamesVerdict {
  /** Number of deliveries of a handler that were sent after the response to an earlier one, and before its end. */
  waited: number
}

/** The attempts of a delivery in one handler, from the begin of the first to the end of the last. */
interface Span extends Sent {
  begun: number
  ended: number
}

/**
 * Checks the order of each service in each handler. The lines of the logs are those of `checkNames`. A kill ends the
 * attempts of its process.
 *
 * - At most one delivery of a service is handled at a time.
 * - If a delivery was answered before another one was sent, its last attempt ends before the first attempt of the other
 *   begins.
 */
export function checkOrder(
  sent: readonly Sent[],
  logs: readonly ProcessLog[],
): Pick<OrderVerdict, 'waited' | 'faults'> {
  const faults: string[] = []
  const known = new Map(sent.map((one) => [one.id, one]))
  const orders = new Map<string, Span[]>()
  for (const [place, log] of logs.entries())
    for (const { id, begun, end, at } of readLog(log, place, Infinity).attempts) {
      const [delivery = '', name = ''] = id.split('/')
      const one = known.get(delivery)
      if (!one) continue // another check reports it
      const order = `${one.service}/${name}`
      const ended = end ? at : (log.killedAt ?? Infinity)
      orders.set(order, [...(orders.get(order) ?? []), { ...one, id, begun, ended }])
    }

  let waited = 0
  for (const attempts of orders.values()) {
    attempts.sort((a, b) => a.begun - b.begun)
    for (const [index, { id, begun }] of attempts.entries()) {
      const previous = attempts[index - 1]
      if (previous && previous.ended > begun) faults.push(`${id} began while ${previous.id} was handled`)
    }
    const spans = toSpans(attempts)
    for (const { id, sentAt = -Infinity, begun } of spans) {
      const earlier = spans.filter(({ answeredAt = Infinity }) => answeredAt < sentAt)
      if (earlier.some(({ ended }) => ended > sentAt)) waited++
      const violated = earlier.find(({ ended }) => ended > begun)
      if (violated) faults.push(`${id} began before ${violated.id} had ended`)
    }
  }
  return { waited, faults }
}

/** Joins the attempts of each delivery. */
function toSpans(attempts: readonly Span[]): Span[] {
  const spans = new Map<string, Span>()
  for (const attempt of attempts) {
    const { begun, ended } = spans.get(attempt.id) ?? attempt
    spans.set(attempt.id, { ...attempt, begun, ended: Math.max(ended, attempt.ended) })
  }
  return [...spans.values()]
}

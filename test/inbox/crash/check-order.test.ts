import { expect, it } from 'vitest'
import type { ProcessLog, Sent } from './check.ts'
import { checkOrder } from './check-order.ts'

const sent = (id: string, sentAt: number, answeredAt: number, service = 'Parcels'): Sent => ({
  id,
  acknowledged: true,
  service,
  sentAt,
  answeredAt,
})
/** `b` was sent after the response to `a`, and `c` before the response to `b`. */
const SENT = [sent('a', 10, 20), sent('b', 30, 40), sent('c', 35, 50)]
const closed = (...lines: string[]): ProcessLog => ({ lines, killed: false })
const killedAt = (time: number, ...lines: string[]): ProcessLog => ({ lines, killed: true, killedAt: time })
const handled = (task: string, begun: number, ended: number, how = 'success', number = 1): string[] => [
  `begin ${task} #${number} ${begun}`,
  `${how} ${task} #${number} ${ended}`,
]

it('accepts deliveries in their order, also after a failure and a kill, and those whose order is unknown', () => {
  const logs = [
    killedAt(130, ...handled('a', 100, 110, 'failure'), 'begin a #2 120'),
    closed(...handled('c', 160, 170), ...handled('b', 180, 190)),
    closed(...handled('a', 140, 150, 'success', 2)),
  ]
  expect(checkOrder(SENT, logs)).toEqual({ waited: 2, faults: [] })
})

it('accepts an overlap of two services, and of two handlers', () => {
  const all = [...SENT.slice(0, 2), sent('d', 30, 40, 'Roads')]
  const logs = [
    closed(...handled('a', 100, 200), ...handled('b', 300, 310)),
    closed(...handled('d', 110, 120), ...handled('a/erp', 110, 120), ...handled('b/erp', 130, 140)),
  ]
  expect(checkOrder(all, logs)).toEqual({ waited: 2, faults: [] })
})

it('reports a delivery that was handled before an earlier one, or while the earlier one waited for its retry', () => {
  const faultsOf = (...lines: string[]) => checkOrder(SENT, [closed(...lines)]).faults
  expect(faultsOf(...handled('b/erp', 100, 110), ...handled('a/erp', 120, 130))).toEqual([
    'b/erp began before a/erp had ended',
  ])
  const retried = [...handled('a', 100, 110, 'failure'), ...handled('a', 140, 150, 'success', 2)]
  expect(faultsOf(...retried, ...handled('b', 120, 130))).toEqual(['b began before a had ended'])
})

it('reports a delivery that began between a kill and the next attempt of an earlier one', () => {
  const logs = [
    killedAt(110, 'begin a #1 100'),
    closed(...handled('b', 120, 130), ...handled('a', 140, 150, 'success', 2)),
  ]
  expect(checkOrder(SENT, logs).faults).toEqual(['b began before a had ended'])
})

it('reports deliveries of a service that were handled at the same time', () => {
  const logs = [closed(...handled('b', 100, 120)), closed(...handled('c', 110, 130))]
  expect(checkOrder(SENT, logs).faults).toEqual(['c began while b was handled'])
})

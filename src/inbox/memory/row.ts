import type { Delivery, StoredDelivery } from '../../receiver/types.ts'
import type { DeliveryFilter } from '../durable-inbox.ts'
import type { HeldTask, TaskKey } from '../engine-port.ts'
import { toErrorKind } from '../error-text.ts'
import { serviceKey, serviceOf } from '../group-key.ts'
import { copyDelivery } from '../serialize.ts'
import type { ReadRow } from '../stored-row.ts'

/** A row of the table: a task. */
export interface Row extends HeldTask, ReadRow {
  delivery: StoredDelivery
  /** True if other tasks of the delivery were created. */
  isRouted: boolean
  /** True if the current attempt is made alone. */
  isAlone: boolean
  isRerun: boolean
  /** The key of its order. Null if it has no order. */
  key: string | null
  /** When the first attempt failed. */
  failingSince: number | null
}

/** Creates the first task of a delivery. */
export function createRow(delivery: Delivery, seq: number, now: number): Row {
  const { id, changeTypes, events, receivedAt, rawBody, tenant } = delivery
  const service = serviceOf(events) ?? null
  return {
    seq,
    handler: '',
    token: 0,
    id,
    state: 'waiting',
    due: now,
    attempts: 0,
    errors: [],
    received: receivedAt.getTime(),
    size: rawBody.length,
    changeTypes: [...changeTypes],
    service,
    key: service && serviceKey(service, tenant),
    failingSince: null,
    isHeld: false,
    isPassed: false,
    started: null,
    owner: null,
    isAlone: false,
    isRerun: false,
    isRouted: false,
    delivery: copyDelivery(delivery),
  }
}

export const isAfter = (row: TaskKey, key: TaskKey): boolean =>
  row.seq > key.seq || (row.seq === key.seq && row.handler > key.handler)

export const inOrder = (rows: Iterable<Row>): Row[] => [...rows].sort((a, b) => (isAfter(a, b) ? 1 : -1))

export const kindOf = ({ errors }: Row): string => toErrorKind(errors.at(-1)?.error ?? '')

export const isMatch = (row: Row, filter: DeliveryFilter, now: number): boolean =>
  (filter.handler ?? row.handler) === row.handler &&
  (filter.service ?? row.service) === row.service &&
  (filter.changeType === undefined || row.changeTypes.includes(filter.changeType)) &&
  (filter.error === undefined || kindOf(row).includes(filter.error)) &&
  row.due <= now - (filter.olderThan ?? -Infinity) &&
  row.due >= now - (filter.newerThan ?? Infinity)

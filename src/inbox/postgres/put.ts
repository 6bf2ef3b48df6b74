import type { Delivery } from '../../receiver/types.ts'
import { type BatchLimits, type BatchResults, createBatches } from '../batches.ts'
import { createCapacity } from '../capacity.ts'
import type { DeliveriesTable } from '../engine-port.ts'
import { serviceKey, serviceOf } from '../group-key.ts'
import { toAsciiJson, toHead, toTypes } from '../serialize.ts'
import { CALL_TIMEOUT, type Query, withTimeout } from './database.ts'
import { isDataError } from './sqlstates.ts'

/**
 * With two batches in flight, the server inserts one while this process builds the next. A delivery waits for its batch
 * for at most half of the call timeout.
 */
const BATCHES: BatchLimits = { items: 50, inFlight: 2, maxWait: CALL_TIMEOUT / 2 }

/** SQL that makes the commit wait for the disk, if the server is configured not to. */
export const DURABLE = `(select case current_setting('synchronous_commit')
  when 'off' then set_config('synchronous_commit', 'on', true) end) as durable`

type PutResult = 'stored' | 'duplicate'

/** Creates a function that stores deliveries, several in one statement. */
export function createPut(query: Query, schema: string, queue: string): DeliveriesTable['put'] {
  const capacity = createCapacity(countPending)
  const add = createBatches(BATCHES, insertBisecting)

  async function countPending(limit: number): Promise<number> {
    const [row] = await query<{ number: number }>(
      `select count(*) as number from (
        select from ${schema}.inbox_task where queue = $1 and state in (0, 1, 5) limit $2
      ) as pending`,
      [queue, limit],
    )
    return row?.number ?? 0
  }

  async function insert(deliveries: readonly Delivery[]): Promise<BatchResults<PutResult>> {
    // A statement cannot insert an id twice. Sorted, because statements that insert the same ids in different orders can
    // deadlock.
    const byId = new Map(deliveries.map((delivery) => [delivery.id, delivery]))
    const sorted = [...byId.values()].sort((a, b) => (a.id < b.id ? -1 : 1))
    const services = sorted.map(({ events }) => serviceOf(events))
    // Bodies are parameters of their own: pg sends these as bytes, but those in an array as text.
    const bodies = sorted.map((_, index) => `$${index + 10}::bytea`)
    const rows = await query<{ id: string }>(
      `with added as (
        insert into ${schema}.inbox_delivery (queue, id, received, tenant, service, types, head, size, body)
        select $1, id, to_timestamp(received / 1000), tenant, service, types, head, size, body
        from ${DURABLE}, unnest($2::text[], $3::float8[], $4::text[], $5::text[], $6::text[], $7::text[], $8::int[],
          array[${bodies.join(', ')}]) as given (id, received, tenant, service, types, head, size, body)
        on conflict (queue, id) do nothing
        returning seq, id
      ), tasks as (
        insert into ${schema}.inbox_task (seq, queue, service, state, due)
        select seq, $1, key, 0, now() from added join unnest($2::text[], $9::text[]) as keys (id, key) using (id)
      )
      select id from added`,
      [
        queue,
        sorted.map(({ id }) => id),
        sorted.map(({ receivedAt }) => receivedAt.getTime()),
        sorted.map(({ tenant }) => (tenant === undefined ? null : toAsciiJson(tenant))),
        services,
        sorted.map(({ changeTypes }) => toTypes(changeTypes)),
        sorted.map((delivery) => toHead(delivery)),
        sorted.map(({ rawBody }) => rawBody.length),
        sorted.map(({ tenant }, index) => services[index] && serviceKey(services[index], tenant)),
        ...sorted.map(({ rawBody }) => Buffer.from(rawBody.buffer, rawBody.byteOffset, rawBody.byteLength)),
      ],
    )
    const stored = new Set(rows.map(({ id }) => id))
    return deliveries.map(({ id }) => (stored.delete(id) ? 'stored' : 'duplicate'))
  }

  /** Splits the batch if PostgreSQL rejects its data, so that one invalid delivery does not fail the others. */
  async function insertBisecting(deliveries: readonly Delivery[]): Promise<BatchResults<PutResult>> {
    try {
      return await insert(deliveries)
    } catch (error) {
      if (deliveries.length === 1 || !isDataError(error)) throw error
      const half = Math.ceil(deliveries.length / 2)
      const results: (PutResult | Error)[] = []
      for (const part of [deliveries.slice(0, half), deliveries.slice(half)])
        results.push(...(await insertBisecting(part).catch((cause: Error) => part.map(() => cause))))
      return results
    }
  }

  return async (delivery, { maxPending }) => {
    if (!(await capacity.acquire(maxPending))) {
      const find = `select from ${schema}.inbox_delivery where queue = $1 and id = $2`
      return (await query(find, [queue, delivery.id])).length > 0 ? 'duplicate' : 'full'
    }
    let result: PutResult | undefined
    try {
      // An overall time limit: the delivery may wait for its batch, which may be sent in several statements, each with
      // its own limit.
      result = await withTimeout(add(delivery, delivery.rawBody.length))
      return result
    } finally {
      capacity.release(result === 'stored')
    }
  }
}

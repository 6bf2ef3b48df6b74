import type { JobWithMetadata } from 'pg-boss'
import type { InboxState } from '../durable-inbox.ts'
import type { DeliveriesTable } from '../engine-port.ts'
import type { JobsLocation } from './connection.ts'
import { COLUMNS, type Row, readDelivery, receivedAtOf, toEntry, UNREADABLE } from './decode.ts'
import { JOB_STATES, jobStatesOf, toId } from './schema.ts'

/** Queries on pg-boss's tables for which pg-boss has no functions. */
export interface JobReader extends Pick<DeliveriesTable, 'counts' | 'list' | 'get'> {
  /** Returns the given ids for which no job exists. */
  missing(ids: readonly string[]): Promise<string[]>
  /** Counts waiting jobs, up to `limit`. Active jobs are not counted, because they are few and not indexed. */
  countWaiting(limit: number): Promise<number>
}

export function createJobReader({ connection, schema, queue }: JobsLocation): JobReader {
  const query = async <T>(text: string, ...values: unknown[]): Promise<T[]> =>
    (await connection.runInTime((boss) => boss.getDb().executeSql(text, [queue, ...values]))).rows

  return {
    async missing(ids) {
      const rows = await query<{ id: string }>(
        `select id from ${schema}.job where name = $1 and id = any($2::uuid[])`,
        ids,
      )
      const found = new Set(rows.map(({ id }) => toId(id)))
      return ids.filter((id) => !found.has(id))
    },

    async countWaiting(limit) {
      const [row] = await query<{ count: string }>(
        `select count(*) from (
          select 1 from ${schema}.job where name = $1 and state < 'active' and not blocked limit $2
        ) waiting`,
        limit,
      )
      return Number(row?.count)
    },

    async counts() {
      const rows = await query<{ state: JobWithMetadata['state']; count: string }>(
        `select state, count(*) from ${schema}.job where name = $1 group by state`,
      )
      const counts = { waiting: 0, active: 0, done: 0, dead: 0 }
      for (const { state: jobState, count } of rows)
        for (const state of Object.keys(counts) as InboxState[])
          if (JOB_STATES[state].includes(jobState)) counts[state] += Number(count)
      const [oldest] = await query<Pick<Row, 'receivedAt' | 'createdOn'>>(
        `select data->>'receivedAt' as "receivedAt", created_on as "createdOn" from ${schema}.job
        where name = $1 and state < 'active' and not blocked order by priority desc, created_on limit 1`,
      )
      return { ...counts, ...(oldest && { oldest: receivedAtOf(oldest) }) }
    },

    async list({ state, limit, offset }) {
      const jobStates = state ? jobStatesOf(state) : jobStatesOf('waiting', 'active', 'done', 'dead')
      const rows = await query<Row>(
        // Sorts ids only: sorting whole rows takes over a second for 100,000 deliveries.
        `select ${COLUMNS} from ${schema}.job where name = $1 and id in (
          select id from ${schema}.job where name = $1 and state::text = any($2)
          order by created_on, id limit $3 offset $4
        ) order by created_on, id`,
        jobStates,
        limit + 1,
        offset,
      )
      return rows.map(toEntry)
    },

    async get(id) {
      const [row] = await query<Row & { data: unknown }>(
        `select ${COLUMNS}, data from ${schema}.job where name = $1 and id = $2`,
        id,
      )
      if (!row) return undefined
      const entry = toEntry(row)
      const unreadable = { ...UNREADABLE, id, receivedAt: entry.receivedAt }
      return { ...entry, delivery: readDelivery(id, row.data) ?? unreadable }
    },
  }
}

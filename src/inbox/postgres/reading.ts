import type { JobWithMetadata } from 'pg-boss'
import type { InboxEntry, InboxState } from '../inbox.ts'
import type { Table } from '../table.ts'
import type { JobsPlace } from './boss.ts'
import { NOTHING, readChangeTypes, readDelivery, readNumberOr, toId } from './decoding.ts'

/** What the states of pg-boss are to an inbox. One that an operator cancels is tried no more, so it is a dead letter. */
const STATES: Readonly<Record<InboxState, readonly JobWithMetadata['state'][]>> = {
  waiting: ['created', 'retry'],
  active: ['active'],
  done: ['completed'],
  dead: ['failed', 'cancelled'],
}

/** States of pg-boss, for `state::text = any(…)`. */
export const statesOf = (...states: InboxState[]): string[] => states.flatMap((state) => STATES[state])

/** Whether it can be in there at all: the id of a job is a UUID, which takes any 32 hexadecimal digits. */
export const isId = (id: string): boolean => /^[0-9a-f]{32}$/.test(id)

/** One job, without the bytes of its delivery. What is in its data may be anything: others can write there. */
interface Row {
  id: string
  state: JobWithMetadata['state']
  retryCount: number
  startAfter: Date
  startedOn: Date | null
  completedOn: Date | null
  createdOn: Date
  output: { error?: string; value?: { message?: string } } | null
  changeTypes: string | null
  size: string | null
  receivedAt: string | null
}

const COLUMNS = `id, state, retry_count as "retryCount", start_after as "startAfter", started_on as "startedOn",
  completed_on as "completedOn", created_on as "createdOn", output, data->>'changeTypes' as "changeTypes",
  data->>'size' as size, data->>'receivedAt' as "receivedAt"`

const receivedAtOf = ({ receivedAt, createdOn }: Pick<Row, 'receivedAt' | 'createdOn'>): Date =>
  new Date(readNumberOr(receivedAt, createdOn.getTime()))

function toEntry(row: Row): InboxEntry {
  const { id, state, retryCount, startAfter, startedOn, completedOn, output } = row
  const ours = (Object.keys(STATES) as InboxState[]).find((one) => STATES[one].includes(state)) ?? 'dead'
  // What pg-boss itself writes, when a process has ended during an attempt, is in `value`.
  const error = output?.error ?? output?.value?.message
  return {
    id: toId(id),
    state: ours,
    attempts: startedOn ? retryCount + 1 : 0,
    changeTypes: readChangeTypes(row.changeTypes),
    size: readNumberOr(row.size, 0),
    receivedAt: receivedAtOf(row),
    ...(ours === 'waiting' && { dueAt: startAfter }),
    ...(completedOn && { endedAt: completedOn }),
    ...(error && { error }),
  }
}

/** What pg-boss has no call for is read from its tables. */
export interface JobReading extends Pick<Table, 'counts' | 'list' | 'get'> {
  /** Returns the ids that no job has. */
  missing(ids: readonly string[]): Promise<string[]>
  /** How many wait, at most `most`. Those at work are left out: they are few, and no index has them. */
  countWaiting(most: number): Promise<number>
}

export function readJobs({ connection, schema, queue }: JobsPlace): JobReading {
  const query = async <T>(text: string, ...values: unknown[]): Promise<T[]> =>
    (await connection.use((boss) => boss.getDb().executeSql(text, [queue, ...values]))).rows

  return {
    async missing(ids) {
      const rows = await query<{ id: string }>(
        `select id from ${schema}.job where name = $1 and id = any($2::uuid[])`,
        ids,
      )
      const found = new Set(rows.map(({ id }) => toId(id)))
      return ids.filter((id) => !found.has(id))
    },

    async countWaiting(most) {
      const [row] = await query<{ count: string }>(
        `select count(*) from (
          select 1 from ${schema}.job where name = $1 and state < 'active' and not blocked limit $2
        ) waiting`,
        most,
      )
      return Number(row?.count)
    },

    async counts() {
      const rows = await query<{ state: JobWithMetadata['state']; count: string }>(
        `select state, count(*) from ${schema}.job where name = $1 group by state`,
      )
      const counts = { waiting: 0, active: 0, done: 0, dead: 0 }
      for (const { state, count } of rows)
        for (const ours of Object.keys(counts) as InboxState[])
          if (STATES[ours].includes(state)) counts[ours] += Number(count)
      const [oldest] = await query<Pick<Row, 'receivedAt' | 'createdOn'>>(
        `select data->>'receivedAt' as "receivedAt", created_on as "createdOn" from ${schema}.job
        where name = $1 and state < 'active' and not blocked order by priority desc, created_on limit 1`,
      )
      return { ...counts, ...(oldest && { oldest: receivedAtOf(oldest) }) }
    },

    async list({ state, limit, offset }) {
      const states = state ? statesOf(state) : statesOf('waiting', 'active', 'done', 'dead')
      const rows = await query<Row>(
        `select ${COLUMNS}
        from (
          select * from ${schema}.job where name = $1 and state::text = any($2)
          order by created_on, id limit $3 offset $4
        ) page order by created_on, id`,
        states,
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
      const nothing = { ...NOTHING, id, receivedAt: entry.receivedAt }
      return { ...entry, delivery: readDelivery(id, row.data) ?? nothing }
    },
  }
}

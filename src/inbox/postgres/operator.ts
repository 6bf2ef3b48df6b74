import type { OperatorMethods, TaskKey } from '../engine-port.ts'
import { type FilterDialect, readErrorRows, selectErrors, toCondition } from '../filter.ts'
import {
  firstKey,
  readDelivery,
  type StoredContent,
  type StoredRow,
  stateNumber,
  stateNumbers,
  toEntry,
  toItem,
} from '../stored-row.ts'
import { type Query, toMilliseconds, withTimeout } from './database.ts'
import type { Order } from './order.ts'
import { MAX_INTERVAL } from './schema.ts'

/** The body as text, because the format of \`bytea\` depends on a setting of the server. */
export const BODY = "encode(body, 'hex') as body"

const ROW = `t.seq, t.handler, d.id, t.state, ${toMilliseconds('t.due')} as due, t.attempts, t.errors,
  ${toMilliseconds('d.received')} as received, d.size, d.types, d.service, ${toMilliseconds('t.started')} as started,
  t.owner::text, t.passed`

/** Makes tasks due. Dead and done ones get their full number of attempts. */
const RETRY = `state = 0, due = now(), rerun = rerun or state = 2,
  attempts = case when state in (2, 3) then 0 else attempts end`

/** False for an id or a name that no task can have. PostgreSQL rejects a text with NUL. */
const isKey = (id: string, handler = ''): boolean => !(id + handler).includes('\0')

/** The content of a delivery as PostgreSQL returns it. */
export interface Content extends Omit<StoredContent, 'body'> {
  body: string
}

export const toContent = (row: Content): StoredContent => ({ ...row, body: Buffer.from(row.body, 'hex') })

interface OperatorOptions {
  /** The table of tasks. */
  task: string
  /** The table of deliveries. */
  delivery: string
  queue: string
  query: Query
  /** Runs statements in turn with other removals, and with takes and ends of workers with an order. */
  inTurn<Result>(run: (inside: Query) => Promise<Result>): Promise<Result>
  order: Order
  /** Wakes the workers of all processes. */
  notify(): void
}

/** Creates the methods of a table for operators. */
export function createOperatorMethods({
  task,
  delivery,
  queue,
  query,
  inTurn,
  order,
  notify,
}: OperatorOptions): OperatorMethods {
  /** SQL for the tasks of the delivery with the id \$2; with a parameter, only the one with that name. */
  const ofDelivery = (handler: string | undefined): string =>
    `where t.queue = $1 and t.seq = (select seq from ${delivery} where queue = $1 and id = $2)
    ${handler === undefined ? '' : 'and t.handler = $3'}`

  /**
   * Runs a statement that removes tasks and returns their `seq`, then removes deliveries that have no task left. Releases
   * the tasks that wait for removed ones.
   */
  const remove = <Row extends { seq: number }>(text: string, values: readonly unknown[]): Promise<Row[]> =>
    withTimeout(
      // Without the lock, two transactions could each leave the delivery to the task that the other one removes.
      inTurn(async (inside) => {
        const removed = await inside<Row & { handler?: string; service?: string; isPending?: boolean }>(
          text,
          values,
        )
        const pending = removed.filter(({ isPending }) => isPending)
        if (pending.length > 0)
          await inside(
            order.release('(select * from unnest($2::text[], $3::text[]) as given (handler, service))'),
            [queue, pending.map(({ handler }) => handler), pending.map(({ service }) => service)],
          )
        const seqs = [...new Set(removed.map(({ seq }) => seq))]
        // Without `offset`, PostgreSQL can read all tasks to join them, while it has no statistics.
        const orphans = `delete from ${delivery} d
          where seq = any($1) and not exists (select from ${task} t where t.seq = d.seq offset 0)`
        if (seqs.length > 0) await inside(orphans, [seqs])
        return removed
      }),
    )

  async function makeDue(id: string, handler: string | undefined, states: string): Promise<boolean> {
    if (!isKey(id, handler)) return false
    const rows = await query(
      `update ${task} t set ${RETRY} ${ofDelivery(handler)} and t.state in (${states}) returning 1`,
      [queue, id, ...(handler === undefined ? [] : [handler])],
    )
    if (rows.length > 0) notify()
    return rows.length > 0
  }

  /** The parts of a condition's SQL. Adds its parameters to others. */
  const dialectOf = (values: unknown[]): FilterDialect => {
    const bind = (value: string | number): string => `$${values.push(value)}`
    const ago = (milliseconds: number): string =>
      `now() - ${bind(Math.min(MAX_INTERVAL, milliseconds))}::float8 * interval '1 ms'`
    return { delivery, position: 'strpos', bind, ago }
  }

  /**
   * SQL that selects the tasks of a state after the key \$2, \$3, in the order of `seq`. Without the subquery and the ties,
   * PostgreSQL could read all of them from another index, and sort them.
   */
  const selectPart = (state: number, order: 'oldest' | 'newest'): string =>
    `select * from ${task} where queue = $1 and state = (select ${state}::smallint)
      and (seq, handler) ${order === 'oldest' ? '>' : '<'} ($2, $3)
    order by seq ${order === 'oldest' ? 'asc' : 'desc'} fetch first $4 rows with ties`

  return {
    async list({ state, filter, limit, compared, order, after }) {
      const direction = order === 'oldest' ? 'asc' : 'desc'
      const from = after ?? firstKey(order)
      const sorted = `order by seq ${direction}, handler ${direction}`
      const values = [queue, from.seq, from.handler, compared, limit + 1]
      // One part for each state: together they read a page of each from an index, and never the whole table.
      const parts = stateNumbers(state).map((number) => `(${selectPart(number, order)})`)
      const rows = await query<StoredRow & { matches: boolean | null; number: number }>(
        `select ${ROW}, t.matches, t.number
        from (
          select * from (
            select *, ${toCondition(filter, dialectOf(values))} as matches, row_number() over (${sorted}) as number
            from (select * from (${parts.join(' union all ')}) as parts ${sorted} limit $4) t
          ) as compared where matches or number = $4 ${sorted} limit $5
        ) t
        join ${delivery} d using (seq) order by t.seq ${direction}, t.handler ${direction}`,
        values,
      )
      const listed = rows.filter(({ matches }) => matches)
      return {
        listed: listed.map((row) => ({ seq: row.seq, handler: row.handler, entry: toEntry(row) })),
        last: rows.find(({ number }) => number === compared),
      }
    },

    async get(id) {
      if (!isKey(id)) return undefined
      const rows = await query<StoredRow & Content>(
        `select ${ROW}, d.head, ${BODY} from ${delivery} d join ${task} t using (seq)
        where d.queue = $1 and d.id = $2 order by t.handler`,
        [queue, id],
      )
      return toItem(rows.map(toEntry), () => readDelivery(toContent(rows[0] as Content)).delivery)
    },

    retry: (id, handler) => makeDue(id, handler, '0, 3, 4, 5'),

    rerun: (id, handler) => makeDue(id, handler, '2'),

    async discard(id, handler) {
      const values = [queue, id, ...(handler === undefined ? [] : [handler])]
      const isDone = `not exists (select from ${task} other where other.seq = t.seq and other.state <> 2)`
      const text = `delete from ${task} t ${ofDelivery(handler)}
        and (t.state <> 1 or t.due <= clock_timestamp())
        ${handler === undefined ? `and (t.state <> 2 or ${isDone})` : ''}
        returning t.seq, t.handler, t.service, t.state in (0, 1) as "isPending"`
      const isDiscarded = isKey(id, handler) && (await remove(text, values)).length > 0
      if (isDiscarded) notify() // a held task may be due
      return isDiscarded
    },

    async changeAll(change, filter, after, limit) {
      const values = [queue, after.seq, after.handler, limit]
      const verb = change === 'discard' ? `delete from ${task} t using` : `update ${task} t set ${RETRY} from`
      const text = `with compared as (
          ${selectPart(stateNumber(filter.state), 'oldest')} for update
        ), matching as (
          select seq, handler from compared t where ${toCondition(filter, dialectOf(values))}
        ), changed as (
          ${verb} matching where t.seq = matching.seq and t.handler = matching.handler returning t.seq, t.handler
        )
        select seq, handler, changed.seq is not null as changed
        from compared left join changed using (seq, handler) order by seq, handler`
      const run = change === 'discard' ? remove : query
      const rows = await run<TaskKey & { changed: boolean }>(text, values)
      const changed = rows.filter((row) => row.changed).length
      if (changed > 0 && change !== 'discard') notify()
      return { changed, last: rows.at(-1) }
    },

    async errors(limit) {
      const dead = `${task} where queue = $1 and state = 3`
      const newest = `select due, error_kind from ${dead} order by due desc limit $2`
      const sql = selectErrors({ delivery, dead, newest, toMilliseconds })
      return readErrorRows(await query(sql, [queue, limit]))
    },

    async purge(state, age, limit) {
      const removed = await remove(
        `delete from ${task} t using (
          select seq, handler from ${task}
          where queue = $1 and state = $2 and state >= 2 and due <= now() - $3::float8 * interval '1 ms'
          order by due limit $4 for update skip locked
        ) ended where t.seq = ended.seq and t.handler = ended.handler returning t.seq`,
        [queue, stateNumber(state), Math.min(MAX_INTERVAL, age), limit],
      )
      return removed.length
    },
  }
}

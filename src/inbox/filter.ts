import type { DeliveryFilter, InboxErrors } from './durable-inbox.ts'
import { fromAsciiText, toAsciiText, toQuoted } from './serialize.ts'

/** Parts of SQL that differ between engines. */
export interface FilterDialect {
  /** The table of deliveries. */
  delivery: string
  /** The function that returns the position of a text in another one. */
  position: 'strpos' | 'instr'
  /** Adds a parameter. */
  bind(value: string | number): string
  /** The time some milliseconds ago. */
  ago(milliseconds: number): string
}

/** Creates SQL that is true for a task `t` that meets all conditions. Its parameters are in ASCII, as in the tables. */
export function toCondition(
  { changeType, service, error, handler, olderThan, newerThan }: DeliveryFilter,
  { delivery, position, bind, ago }: FilterDialect,
): string {
  // Subqueries, because the planner could choose to join all deliveries.
  const column = (name: string): string => `(select ${name} from ${delivery} d where d.seq = t.seq)`
  const conditions = [
    handler !== undefined && `t.handler = ${bind(toAsciiText(handler))}`,
    error !== undefined && `${position}(t.error_kind, ${bind(toAsciiText(error))}) > 0`,
    service !== undefined && `${column('service')} = ${bind(toAsciiText(service))}`,
    changeType !== undefined && `${position}(${column('types')}, ${bind(toQuoted(changeType))}) > 0`,
    olderThan !== undefined && `t.due <= ${ago(olderThan)}`,
    newerThan !== undefined && `t.due >= ${ago(newerThan)}`,
  ]
  return conditions.filter(Boolean).join(' and ') || 'true'
}

/** Maximum number of groups of errors. */
export const MAX_GROUPS = 100

/** A group of errors, as {@link selectErrors} returns it. */
interface ErrorRow {
  error: string
  count: number
  first: number
  last: number
  id: string
  examined: number
}

/** Parts of the SQL of {@link selectErrors}. */
export interface ErrorsDialect {
  delivery: string
  /** The table of tasks, and a condition for dead letters. */
  dead: string
  /** Selects the `due` and `error_kind` of the newest dead letters. */
  newest: string
  toMilliseconds(time: string): string
}

/** Creates SQL that groups dead letters by their errors. */
export const selectErrors = ({ delivery, dead, newest, toMilliseconds }: ErrorsDialect): string => `
  with letters as (select due, cast(coalesce(error_kind, '') as text) as kind from (${newest}) newest),
  grouped as (
    select kind, count(*) as count, min(due) as first, max(due) as last,
      cast(sum(count(*)) over () as bigint) as examined
    from letters group by kind order by count(*) desc, max(due) desc limit ${MAX_GROUPS}
  )
  select kind as error, count, ${toMilliseconds('first')} as first, ${toMilliseconds('last')} as last, examined, (
    select id from ${delivery} where seq = (
      select seq from ${dead} and due = last and coalesce(error_kind, '') = kind limit 1
    )
  ) as id
  from grouped order by count desc, last desc`

export const readErrorRows = (rows: readonly ErrorRow[]): InboxErrors => ({
  groups: rows.map(({ error, count, first, last, id }) => ({
    error: fromAsciiText(error),
    count,
    first: new Date(first),
    last: new Date(last),
    id,
  })),
  examined: rows[0]?.examined ?? 0,
})

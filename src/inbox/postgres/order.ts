import { HELD } from '../stored-row.ts'
import type { Query } from './database.ts'

/** Minimum number of due tasks that a take with an order reads. */
export const WINDOW = 200

/** Maximum number of tasks that one take marks as passed. */
const MAX_PASSED = 1_000

/** Milliseconds between two checks of held tasks, and the maximum number of keys that each checks. */
const [CHECK_INTERVAL, MAX_CHECKED] = [10_000, 1_000]

/** A key of held tasks, in the order of their index. */
interface Key {
  handler: string
  routed: boolean
  hash: string
}

const START: Key = { handler: '', routed: false, hash: String(-(2n ** 63n)) }

/** The SQL of the order of services. The parameter \$1 of all statements is the queue, and \$2 of a take the handler. */
export interface Order {
  /** Marks tasks as passed whose first failed attempt was `hold` milliseconds ago. */
  pass(query: Query, hold: number): Promise<void>
  /**
   * From time to time, releases held tasks that wait for no other: those that workers without an order left behind, and
   * those of races with them.
   */
  check(query: Query): Promise<void>
  /**
   * SQL that releases the first held task of each key in `keys`, a table with `handler` and `service`: the first one that
   * is routed, and the first one that is not. The next take holds the later of them again.
   *
   * @param condition SQL about `held`, the `seq` of that task, and `keys`
   */
  release(keys: string, condition?: string): string
  /** CTEs of a take that hold those tasks of the CTE `due` that must wait: the tasks in the CTE `blocked`. */
  holding: string
}

export function createOrder(task: string, queue: string): Order {
  let checkAt = -Infinity
  /** The last key that was checked. */
  let last = START

  /**
   * SQL for the number of the first task with a key. A range of one hash, in the order of its index, so that PostgreSQL
   * uses no other index, whatever its statistics are.
   */
  const first = (handler: string, routed: string, service: string, condition: string): string =>
    `(select seq from ${task}
      where queue = $1 and handler = ${handler} and routed = ${routed} and service = ${service} and ${condition}
      and hashtextextended(service, 0) >= hashtextextended(${service}, 0)
      and hashtextextended(service, 0) <= hashtextextended(${service}, 0)
      order by hashtextextended(service, 0), seq limit 1)`

  const WAITING = 'state = 0 and service is not null and not passed'
  const IS_HELD = `state = ${HELD}`
  /** With `+ 0`, so that PostgreSQL uses the primary key: without statistics, it could read all held tasks. */
  const STILL_HELD = `t.state + 0 = ${HELD}`
  const ACTIVE = `active as materialized (
    select handler, service, routed from ${task} where queue = $1 and state = 1 and service is not null and not passed
  )`

  const release: Order['release'] = (keys, condition = 'true') =>
    `update ${task} t set state = 0, due = least(t.due, statement_timestamp())
    from (
      select keys.*, kinds.routed, ${first('keys.handler', 'kinds.routed', 'keys.service', IS_HELD)} as held
      from ${keys} keys, (values (true), (false)) kinds (routed)
    ) keys
    where t.seq = held and t.handler = keys.handler and ${STILL_HELD} and ${condition}`

  const nextKey = (handler: string, routed: string, hash: string): string =>
    `(select handler, routed, hashtextextended(service, 0) as hash, service, seq from ${task}
      where queue = $1 and state = ${HELD}
        and (handler, routed, hashtextextended(service, 0)) > (${handler}, ${routed}, ${hash})
      order by handler, routed, hashtextextended(service, 0), seq limit 1)`

  return {
    release,

    async pass(query, hold) {
      await query(
        `with failing as (
          select seq, handler from ${task}
          where queue = $1 and state = 0 and failing_since <= now() - $2::float8 * interval '1 ms' and not passed
          order by failing_since limit ${MAX_PASSED} for update skip locked
        ), passed as (
          update ${task} t set passed = true from failing where t.seq = failing.seq and t.handler = failing.handler
          returning t.handler, t.service
        )
        ${release('passed')}`,
        [queue, hold],
      )
    },

    async check(query) {
      if (performance.now() < checkAt) return
      checkAt = performance.now() + CHECK_INTERVAL
      const [key] = await query<Key & { number: number }>(
        `with recursive held as (
          ${nextKey('$2', '$3::boolean', '$4::bigint')} union all
          select next.* from held, lateral ${nextKey('held.handler', 'held.routed', 'held.hash')} next
        ), page as (
          select * from held limit ${MAX_CHECKED}
        ), ${ACTIVE}, released as (
          update ${task} t set state = 0, due = least(t.due, statement_timestamp()) from page
          where t.seq = page.seq and t.handler = page.handler and ${STILL_HELD}
            and (page.handler, page.service) not in (select handler, service from active)
            and (least(
              ${first('page.handler', 'true', 'page.service', WAITING)},
              ${first('page.handler', 'false', 'page.service', WAITING)}
            ) < page.seq) is not true
        )
        select handler, routed, hash::text, count(*) over () as number from page
        order by page.handler desc, page.routed desc, page.hash desc limit 1`,
        [queue, last.handler, last.routed, last.hash],
      )
      last = key?.number === MAX_CHECKED ? key : START
    },

    // A task without a name that is not routed yet can become one of the handler.
    holding: `${ACTIVE}, keyed as (
      select seq, service, row_number() over (partition by service order by seq) as place
      from due where service is not null and not passed
    ), blocked as (
      select seq from keyed
      where place > 1 or service in (select service from active where handler = $2 or not routed) or least(
        ${first('$2', 'true', 'keyed.service', WAITING)},
        ${first('$2', 'true', 'keyed.service', IS_HELD)},
        ${first("''", 'false', 'keyed.service', WAITING)},
        ${first("''", 'false', 'keyed.service', IS_HELD)}
      ) < seq
    ), held as (
      update ${task} t set state = ${HELD} from blocked where t.seq = blocked.seq and t.handler = $2
    )`,
  }
}

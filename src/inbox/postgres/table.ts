import {
  ANNOUNCED,
  type DeliveriesTable,
  type HeldTask,
  type TakenDelivery,
  type TakeRequest,
} from '../engine-port.ts'
import { createRouting } from '../routing.ts'
import {
  readAnnouncement,
  readDelivery,
  readStrings,
  readUnhandled,
  stateNumber,
  toErrors,
  toKind,
  toWorkerColumns,
  type UnhandledRow,
  type WorkerRow,
} from '../stored-row.ts'
import { createCounts } from './counts.ts'
import { createDatabase, type Query, toMilliseconds, withTimeout } from './database.ts'
import { createPostgresGenerations } from './generations.ts'
import { createNotifier } from './listen.ts'
import { BODY, type Content, createOperatorMethods, toContent } from './operator.ts'
import type { PostgresLocation } from './options.ts'
import { createOrder, WINDOW } from './order.ts'
import { createPut, DURABLE } from './put.ts'
import { createInboxSql, MAX_INTERVAL, requireCompatible, requireRights } from './schema.ts'

/** SQL for the time after a parameter's milliseconds. Not `now()`, because a statement may have waited for a lock. */
const after = (parameter: string): string => `clock_timestamp() + ${parameter}::float8 * interval '1 ms'`

/** SQL for the time of a third parameter in microseconds since 1970. */
const MICROSECONDS = "(timestamptz 'epoch' + $3::float8 * interval '1 us')"

/** SQL that is true for the announcement of a worker that counts. The server's clock may have been set back. */
const IS_ALIVE = `seen between ${['-', '+'].map((sign) => `now() ${sign} ${ANNOUNCED} * interval '1 ms'`).join(' and ')}`

interface TakenRow extends Content, HeldTask {
  attempt: number
  rerun: boolean
}

/** Creates a table of deliveries in PostgreSQL. Times come from the server's clock. */
export function createPostgresTable(
  location: PostgresLocation,
  queue: string,
  isListening: boolean,
): DeliveriesTable {
  const { schema } = location
  const task = `${schema}.inbox_task`
  const delivery = `${schema}.inbox_delivery`
  const worker = `${schema}.inbox_worker`
  const queues = `${schema}.inbox_queue`
  const notPaused = `not exists (select from ${queues} where name = $1 and paused)`
  const database = createDatabase(location, {
    contents: 'deliveries',
    table: `${schema}.inbox_task_failing`,
    createSql: createInboxSql(schema),
    async check(query, isStart) {
      await requireCompatible(query, schema)
      if (isStart) await requireRights(query, schema)
      if (isStart) await query(`insert into ${queues} (name) values ($1) on conflict do nothing`, [queue])
    },
  })
  const { query, queryPatiently, transaction } = database
  /** Takes and ends of workers with an order, and removals, take turns: each must see what the others have changed. */
  const inTurn = <Result>(run: (inside: Query) => Promise<Result>): Promise<Result> =>
    transaction(`geohook queue ${schema}.${queue}`, run)
  const order = createOrder(task, queue)
  const notifier = isListening
    ? createNotifier(database, `geohook.${schema.slice(1, -1)}.${queue}`.slice(0, 63))
    : undefined
  const put = createPut(query, schema, queue)
  const counts = createCounts(query, schema, queue)

  const toTaken = (row: TakenRow, isSuspect: boolean): TakenDelivery => {
    const { seq, handler, token, attempt, rerun } = row
    return { seq, handler, token, attempt, isSuspect, isRerun: rerun, ...readDelivery(toContent(row)) }
  }

  const NAMED = `exists (select from ${worker} where queue = $1 and names is not null and ${IS_ALIVE})`

  /** Takes tasks. With an order, the rows also have the number of tasks that are held now. */
  function takeRows(run: Query, request: TakeRequest): Promise<(TakenRow & { blocked: number })[]> {
    const { owner, handler, lease, limit, maxBytes, seqs, areNames = false } = request
    // Not `now()`, which is the time before a transaction waited for its turn.
    const isDue = seqs ? 'state = 4 and seq = any($9)' : 'state = 0 and due <= statement_timestamp()'
    const select = (condition: string): string =>
      `select seq, due, service, passed from ${task}
      where queue = $1 and ${notPaused} and handler = $2 and ${isDue} and ${condition}
      order by due, seq limit $8 for update skip locked`
    const parts = request.order
      ? {
          window: Math.max(WINDOW, limit),
          holding: `${order.holding},`,
          free: 'due where seq not in (select seq from blocked)',
          rows: '(select count(*) as blocked from blocked) counted left join',
        }
      : { window: limit, holding: '', free: 'due', rows: '(select 0 as blocked) counted join' }
    return run(
      `with routed as (${select('routed')}),
      unrouted as (${select(`not routed and not ($7 or ${NAMED})`)}),
      due as (
        select * from routed union all select * from unrouted order by due, seq limit $8
      ), ${parts.holding} free as (
        select seq, due from ${parts.free} order by due, seq limit $3
      ), sized as (
        select seq, sum(size) over (order by due, seq) - size as before from free join ${delivery} using (seq)
      ), taken as (
        update ${task} t
        set state = 1, attempts = attempts + 1, token = token + 1, alone = false, owner = $4,
          started = statement_timestamp(), due = ${after('$5')}
        from sized, ${DURABLE}
        where t.seq = sized.seq and t.handler = $2 and sized.before <= $6
        returning t.seq, t.handler, t.token, t.attempts, t.rerun, t.errors
      )
      select seq, handler, token, attempts as attempt, rerun, id, ${toMilliseconds('received')} as received, types, errors,
        head, ${BODY}, blocked
      from ${parts.rows} (taken join ${delivery} using (seq)) on true order by seq`,
      [queue, handler, limit, owner, lease, maxBytes, areNames, parts.window, ...(seqs ? [seqs] : [])],
    )
  }

  return {
    generations: createPostgresGenerations(query, schema, queue),

    open: () => withTimeout(database.open()),

    async put(stored, limits) {
      const result = await put(stored, limits)
      if (result === 'stored') notifier?.notify()
      return result
    },

    async announce(announcement) {
      await query(
        `with expired as (
          delete from ${worker} where id in (
            select id from ${worker} where queue = $1 and not ${IS_ALIVE} and id <> $2 for update skip locked
          )
        )
        insert into ${worker} (id, queue, types, names, seen) values ($2, $1, $3, $4, now())
        on conflict (id) do update set types = excluded.types, names = excluded.names, seen = excluded.seen`,
        [queue, announcement.id, ...toWorkerColumns(announcement)],
      )
    },

    async withdraw(id) {
      await query(`delete from ${worker} where id = $1`, [id])
    },

    async workers() {
      const rows = await query<WorkerRow>(
        `select id::text, types, names from ${worker} where queue = $1 and ${IS_ALIVE}`,
        [queue],
      )
      return rows.map(readAnnouncement)
    },

    async unhandled({ within = MAX_INTERVAL, after = { endedAt: 0, seq: 0, handler: '' }, limit }) {
      const rows = await query<UnhandledRow>(
        `select seq, t.handler, d.size, d.types, t.routed, (extract(epoch from t.due) * 1000000)::bigint as "endedAt"
        from ${task} t join ${delivery} d using (seq)
        where t.queue = $1 and t.state = 4 and t.due >= now() - $2::float8 * interval '1 ms'
          and (t.due, t.seq, t.handler) > (${MICROSECONDS}, $4, $5)
        order by t.due, t.seq, t.handler limit $6`,
        [queue, Math.min(MAX_INTERVAL, within), after.endedAt, after.seq, after.handler, limit],
      )
      return rows.map(readUnhandled)
    },

    async route(limit, own) {
      // One statement: workers that announce names after it can have no part in deliveries that it returns.
      const rows = await query<WorkerRow & { seq: number | null }>(
        `(select null::bigint as seq, id::text, types, names from ${worker} where queue = $1 and ${IS_ALIVE})
        union all
        (select seq, null, d.types, null from ${task} t join ${delivery} d using (seq)
        where t.queue = $1 and t.handler = '' and not t.routed and t.state = 0 and t.due <= now() and ($3 or ${NAMED})
        order by t.due, seq limit $2)`,
        [queue, limit, own !== undefined && own.names.size > 0],
      )
      const workers = rows.filter(({ seq }) => seq === null).map(readAnnouncement)
      const routeOf = createRouting([...workers, ...(own ? [own] : [])])
      const routes = rows.flatMap(({ seq, types }) =>
        routeOf && seq !== null ? { seq, ...routeOf(readStrings(types ?? '[]')) } : [],
      )
      if (routes.length === 0) return 0
      const named = routes.flatMap(({ seq, names }) => names.map((name) => ({ seq, name })))
      await query(
        // The lateral subquery looks up each task by the primary key, as in endAttempts.
        `with open as (
          select * from (
            select * from unnest($2::bigint[], $3::boolean[]) as given (seq, kept) order by seq
          ) given, lateral (
            select service, due, passed, rerun from ${task}
            where seq = given.seq and handler = '' and state = 0 and not routed for update skip locked
          ) t
        ), added as (
          insert into ${task} (seq, handler, queue, service, state, due, routed, passed, rerun)
          select seq, name, $1, service, 0, due, true, passed, rerun
          from open join unnest($4::bigint[], $5::text[]) as named (seq, name) using (seq)
          on conflict do nothing
        ), removed as (
          delete from ${task} t using open where t.seq = open.seq and t.handler = '' and not open.kept
        ), released as (
          ${order.release("(select '' as handler, service from open)", 'not keys.routed')}
        )
        update ${task} t set routed = true from open, ${DURABLE}
        where t.seq = open.seq and t.handler = '' and open.kept`,
        [
          queue,
          routes.map(({ seq }) => seq),
          routes.map(({ isUnnamed }) => isUnnamed),
          named.map(({ seq }) => seq),
          named.map(({ name }) => name),
        ],
      )
      notifier?.notify()
      return routes.length
    },

    async reroute(seqs) {
      await query(
        `update ${task} t set state = 0, due = now() from ${DURABLE}
        where seq = any($1) and handler = '' and state = 4 and not routed`,
        [seqs],
      )
    },

    async take(request) {
      const hold = request.order?.hold
      const rows =
        hold === undefined
          ? await order.check(query).then(() => takeRows(queryPatiently, request))
          : await inTurn(async (inside) => {
              await order.pass(inside, hold)
              await order.check(inside)
              return takeRows(inside, request)
            })
      const taken = rows.filter(({ seq }) => seq !== null).map((row) => toTaken(row, false))
      if (taken.length > 0 || request.seqs) return { taken }
      if (rows.some(({ blocked }) => blocked > 0)) return { taken, wait: 0 }
      // Not min(due): without statistics, PostgreSQL would read all waiting tasks of the queue.
      const earliest = (routed: boolean): string =>
        `(select due from ${task} where queue = $1 and handler = $2 and routed = ${routed} and state = 0 and due > now()
        order by due, seq limit 1)`
      const [next] = await query<{ wait: number | null }>(
        `select ${toMilliseconds(`least(${earliest(true)}, ${earliest(false)}) - now()`)} as wait`,
        [queue, request.handler],
      )
      return { taken, wait: next?.wait ?? undefined }
    },

    async takeSuspect({ owner, lease, attempts, except, isAlone }) {
      const [row] = await queryPatiently<TakenRow & { isTaken: boolean }>(
        `with suspect as (
          select t.seq, t.handler, t.attempts + t.alone::int as attempt, own.attempts as most
          from ${task} t join ${delivery} d using (seq)
          join unnest($6::text[], $7::int[]) as own (handler, attempts) on own.handler = t.handler
          where t.queue = $1 and ${notPaused} and t.state = 1 and t.due <= now() and d.id || ' ' || t.handler <> all($4)
          order by t.due limit 1 for update of t skip locked
        ), taken as (
          update ${task} t
          set attempts = least(suspect.attempt, most), token = token + 1, alone = suspect.attempt > most, owner = $2,
            started = now(),
            due = ${after('$3')}
          from suspect, ${DURABLE}
          where t.seq = suspect.seq and t.handler = suspect.handler and (suspect.attempt <> most or $5)
          returning t.seq, t.token, t.rerun, t.errors
        )
        select seq, handler, token, attempt, rerun, id, ${toMilliseconds('received')} as received, types, errors, head, ${BODY},
          token is not null as "isTaken"
        from suspect left join taken using (seq) join ${delivery} using (seq)`,
        [queue, owner, lease, [...except], isAlone, [...attempts.keys()], [...attempts.values()]],
      )
      if (!row) return undefined
      return row.isTaken ? toTaken(row, true) : 'last'
    },

    async startAlone(owner, { seq, handler, token }, lease) {
      const rows = await query(
        `update ${task} t set alone = true, due = ${after('$5')} from ${DURABLE}
        where t.seq = $1 and t.handler = $2 and t.token = $3 and t.owner = $4 returning 1`,
        [seq, handler, token, owner, lease],
      )
      return rows.length > 0
    },

    async renew(owner, held, lease) {
      const rows = await query<{ number: number }>(
        // Locks rows in the order of their keys, because the previous renewal may still be in progress.
        `with held as (
          select held.* from (
            select * from unnest($3::bigint[], $4::text[], $5::bigint[]) with ordinality as held (seq, handler, token, number)
            order by seq, handler
          ) held, lateral (
            select from ${task}
            where seq = held.seq and handler = held.handler and token = held.token and owner = $1 for update
          ) t
        )
        update ${task} t set due = ${after('$2')} from held
        where t.seq = held.seq and t.handler = held.handler returning held.number`,
        [owner, lease, ...toColumns(held)],
      )
      return toFlags(held, rows)
    },

    async endAttempts(owner, ends, isOrdered = false) {
      const run = isOrdered ? inTurn : (end: (query: Query) => Promise<{ number: number }[]>) => end(query)
      const rows = await run((query) =>
        query<{ number: number }>(
          // Locks rows in the order of their keys, so that two statements cannot deadlock. The lateral subquery looks up each
          // ended attempt by the primary key. A plain join can scan the whole table while PostgreSQL has no statistics. A
          // worker that starts later can have a name for an unhandled delivery.
          `with ended as (
          select ended.*, t.owner is null as "isRecorded"
          from (
            select * from unnest($2::bigint[], $3::text[], $4::bigint[], $5::int[], $6::float8[], $7::text[], $8::int[], $9::text[])
              with ordinality as ended (seq, handler, token, state, delay, errors, attempts, kind, number)
            order by seq, handler
          ) ended, lateral (
            select owner from ${task}
            where seq = ended.seq and handler = ended.handler and token = ended.token and (owner = $10 or owner is null)
            for update
          ) t
        ), recorded as (
          update ${task} t
          set state = ended.state, due = ${after('ended.delay')}, owner = null, alone = false,
            attempts = coalesce(ended.attempts, t.attempts),
            errors = coalesce(ended.errors, t.errors), error_kind = coalesce(ended.kind, t.error_kind),
            failing_since = case
              when ended.state = 0 and t.service is not null then coalesce(t.failing_since, now())
              when ended.state = 4 then t.failing_since end,
            passed = t.passed and ended.state in (0, 4),
            routed = t.routed and (ended.state <> 4
              or exists (select from ${task} other where other.seq = t.seq and other.handler <> ''))
          from ended, ${DURABLE}
          where t.seq = ended.seq and t.handler = ended.handler and not "isRecorded"
          returning ended.number, t.seq, t.handler, t.service, ended.state
        ), released as (
          ${order.release('recorded', '(keys.state <> 0 or held < keys.seq)')}
        )
        select number from recorded union all select number from ended where "isRecorded"`,
          [
            queue,
            ...toColumns(ends),
            ends.map(({ end }) => stateNumber(end.state)),
            ends.map(({ end }) => (end.state === 'waiting' ? end.delay : 0)),
            ends.map(({ end }) => ('errors' in end ? toErrors(end.errors) : null)),
            ends.map(({ end }) => ('attempts' in end ? end.attempts : null)),
            ends.map(({ end }) => toKind(end)),
            owner,
          ],
        ),
      )
      return toFlags(ends, rows)
    },

    async settings() {
      const [row] = await query<{ paused: boolean; concurrency: number | null }>(
        `select paused, concurrency from ${queues} where name = $1`,
        [queue],
      )
      return { paused: row?.paused ?? false, concurrency: row?.concurrency ?? undefined }
    },

    async set(name, value) {
      await query(
        `insert into ${queues} (name, ${name}) values ($1, $2)
        on conflict (name) do update set ${name} = excluded.${name} returning ${DURABLE}`,
        [queue, value ?? null],
      )
      notifier?.notify()
    },

    counts,

    ...createOperatorMethods({
      task,
      delivery,
      queue,
      query,
      inTurn,
      order,
      notify: () => notifier?.notify(),
    }),

    ...(notifier && { watch: notifier.watch }),
    close: database.close,
  }
}

/** The keys and tokens of tasks, as parameters for `unnest`. */
const toColumns = (tasks: readonly HeldTask[]): unknown[][] => [
  tasks.map(({ seq }) => seq),
  tasks.map(({ handler }) => handler),
  tasks.map(({ token }) => token),
]

/** Returns true for each task whose number, from 1, a statement has returned. */
function toFlags(tasks: readonly HeldTask[], rows: readonly { number: number }[]): boolean[] {
  const numbers = new Set(rows.map(({ number }) => number))
  return tasks.map((_, index) => numbers.has(index + 1))
}

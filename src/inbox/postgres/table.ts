import { configInvalid } from '../../errors.ts'
import type { InboxState } from '../durable-inbox.ts'
import { ANNOUNCED, type DeliveriesTable, type HeldDelivery, type TakenDelivery } from '../engine-port.ts'
import { toAsciiJson } from '../serialize.ts'
import {
  forEachState,
  readAnnouncement,
  readDelivery,
  readUnhandled,
  STATES,
  type StoredContent,
  type StoredRow,
  stateNumber,
  toEntry,
  toErrors,
  type UnhandledRow,
} from '../stored-row.ts'
import { createDatabase, type Query, withTimeout } from './database.ts'
import { createPostgresGenerations } from './generations.ts'
import { createNotifier } from './listen.ts'
import type { PostgresLocation } from './options.ts'
import { createPut, DURABLE } from './put.ts'
import { createInboxSql, MAX_INTERVAL, VERSION } from './schema.ts'

/** SQL for the time after a parameter's milliseconds. Not `now()`, because a statement may have waited for a lock. */
const after = (parameter: string): string => `clock_timestamp() + ${parameter}::float8 * interval '1 ms'`

/** The body as text, because the format of \`bytea\` depends on a setting of the server. */
const BODY = "encode(body, 'hex') as body"

const toMilliseconds = (time: string): string => `(extract(epoch from ${time}) * 1000)::float8`

const ROW = `t.seq, d.id, t.state, ${toMilliseconds('t.due')} as due, t.attempts, t.errors,
  ${toMilliseconds('d.received')} as received, d.size, d.types, d.service, ${toMilliseconds('t.started')} as started,
  t.owner::text`

/** SQL for the time of a third parameter in microseconds since 1970. */
const MICROSECONDS = "(timestamptz 'epoch' + $3::float8 * interval '1 us')"

/** SQL that is true for the announcement of a worker that counts. The server's clock may have been set back. */
const IS_ALIVE = `seen between ${['-', '+'].map((sign) => `now() ${sign} ${ANNOUNCED} * interval '1 ms'`).join(' and ')}`

/** True for an id that a delivery can have. PostgreSQL rejects a text with NUL. */
const isId = (id: string): boolean => !id.includes('\0')

interface Content extends Omit<StoredContent, 'body'> {
  body: string
}

interface TakenRow extends Content, HeldDelivery {
  attempt: number
}

const toContent = (row: Content): StoredContent => ({ ...row, body: Buffer.from(row.body, 'hex') })

/** Creates a table of deliveries in PostgreSQL. Times come from the server's clock. */
export function createPostgresTable(
  location: PostgresLocation,
  queue: string,
  isListening: boolean,
): DeliveriesTable {
  const { schema } = location
  const [task, delivery, worker] = ['task', 'delivery', 'worker'].map((name) => `${schema}.inbox_${name}`)
  const queues = `${schema}.inbox_queue`
  const notPaused = `not exists (select from ${queues} where name = $1 and paused)`
  const database = createDatabase(location, {
    contents: 'deliveries',
    table: `${schema}.inbox_meta`,
    createSql: createInboxSql(schema),
    async check(query, isStart) {
      await requireCompatible(query, schema)
      if (isStart) await requireRights(query, schema)
      if (isStart) await query(`insert into ${queues} (name) values ($1) on conflict do nothing`, [queue])
    },
  })
  const { query, queryPatiently } = database
  const notifier = isListening
    ? createNotifier(database, `geohook.${schema.slice(1, -1)}.${queue}`.slice(0, 63))
    : undefined
  const put = createPut(query, schema, queue)
  const counts = createCounts(query, schema, queue)

  /** Runs a statement that changes tasks of one delivery. @returns true if it changed any */
  async function change(text: string, id: string): Promise<boolean> {
    return isId(id) && (await query(text, [queue, id])).length > 0
  }

  const toTaken = (row: TakenRow, isSuspect: boolean): TakenDelivery => {
    const { seq, token, attempt } = row
    return { seq, token, attempt, isSuspect, ...readDelivery(toContent(row)) }
  }

  return {
    generations: createPostgresGenerations(query, schema, queue),

    open: () => withTimeout(database.open()),

    async put(stored, limits) {
      const result = await put(stored, limits)
      if (result === 'stored') notifier?.notify()
      return result
    },

    async announce({ id, changeTypes }) {
      await query(
        `with expired as (
          delete from ${worker} where id in (
            select id from ${worker} where queue = $1 and not ${IS_ALIVE} and id <> $2 for update skip locked
          )
        )
        insert into ${worker} (id, queue, types, seen) values ($2, $1, $3, now())
        on conflict (id) do update set types = excluded.types, seen = excluded.seen`,
        [queue, id, changeTypes ? toAsciiJson(changeTypes) : null],
      )
    },

    async withdraw(id) {
      await query(`delete from ${worker} where id = $1`, [id])
    },

    async workers() {
      const rows = await query<{ id: string; types: string | null }>(
        `select id::text, types from ${worker} where queue = $1 and ${IS_ALIVE}`,
        [queue],
      )
      return rows.map(readAnnouncement)
    },

    async unhandled({ within = MAX_INTERVAL, after = { endedAt: 0, seq: 0 }, limit }) {
      const rows = await query<UnhandledRow>(
        `select seq, d.size, d.types, (extract(epoch from t.due) * 1000000)::bigint as "endedAt"
        from ${task} t join ${delivery} d using (seq)
        where t.queue = $1 and t.handler = '' and t.state = 4 and t.due >= now() - $2::float8 * interval '1 ms'
          and (t.due, t.seq) > (${MICROSECONDS}, $4)
        order by t.due, t.seq limit $5`,
        [queue, Math.min(MAX_INTERVAL, within), after.endedAt, after.seq, limit],
      )
      return rows.map(readUnhandled)
    },

    async take({ owner, lease, limit, maxBytes, seqs }) {
      const rows = await queryPatiently<TakenRow>(
        `with due as (
          select seq, due from ${task}
          where queue = $1 and ${notPaused} and handler = '' and ${seqs ? 'state = 4 and seq = any($6)' : 'state = 0 and due <= now()'}
          order by due, seq limit $2 for update skip locked
        ), sized as (
          select seq, sum(size) over (order by due, seq) - size as before from due join ${delivery} using (seq)
        ), taken as (
          update ${task} t
          set state = 1, attempts = attempts + 1, token = token + 1, alone = false, owner = $3, started = now(),
            due = ${after('$4')}
          from sized, ${DURABLE}
          where t.seq = sized.seq and t.handler = '' and sized.before <= $5
          returning t.seq, t.token, t.attempts, t.errors
        )
        select seq, token, attempts as attempt, id, ${toMilliseconds('received')} as received, types, errors, head, ${BODY}
        from taken join ${delivery} using (seq) order by seq`,
        [queue, limit, owner, lease, maxBytes, ...(seqs ? [seqs] : [])],
      )
      if (rows.length > 0 || seqs) return { taken: rows.map((row) => toTaken(row, false)) }
      const [next] = await query<{ wait: number | null }>(
        `select ${toMilliseconds('min(due) - now()')} as wait from ${task}
        where queue = $1 and handler = '' and state = 0 and due > now()`,
        [queue],
      )
      return { taken: [], wait: next?.wait ?? undefined }
    },

    async takeSuspect({ owner, lease, attempts, except, isAlone }) {
      const [row] = await queryPatiently<TakenRow & { isTaken: boolean }>(
        `with suspect as (
          select t.seq, t.handler, t.attempts + t.alone::int as attempt from ${task} t join ${delivery} d using (seq)
          where t.queue = $1 and ${notPaused} and t.state = 1 and t.due <= now() and d.id <> all($5)
          order by t.due limit 1 for update of t skip locked
        ), taken as (
          update ${task} t
          set attempts = least(suspect.attempt, $4), token = token + 1, alone = suspect.attempt > $4, owner = $2,
            started = now(),
            due = ${after('$3')}
          from suspect, ${DURABLE}
          where t.seq = suspect.seq and t.handler = suspect.handler and (suspect.attempt <> $4 or $6)
          returning t.seq, t.token, t.errors
        )
        select seq, token, attempt, id, ${toMilliseconds('received')} as received, types, errors, head, ${BODY},
          token is not null as "isTaken"
        from suspect left join taken using (seq) join ${delivery} using (seq)`,
        [queue, owner, lease, attempts, [...except], isAlone],
      )
      if (!row) return undefined
      return row.isTaken ? toTaken(row, true) : 'last'
    },

    async startAlone(owner, { seq, token }, lease) {
      const rows = await query(
        `update ${task} t set alone = true, due = ${after('$4')} from ${DURABLE}
        where t.seq = $1 and t.handler = '' and t.token = $2 and t.owner = $3 returning 1`,
        [seq, token, owner, lease],
      )
      return rows.length > 0
    },

    async renew(owner, held, lease) {
      const rows = await query<{ seq: number }>(
        `update ${task} t set due = ${after('$2')}
        from unnest($3::bigint[], $4::bigint[]) as held (seq, token)
        where t.seq = held.seq and t.handler = '' and t.token = held.token and t.owner = $1
        returning t.seq`,
        [owner, lease, held.map(({ seq }) => seq), held.map(({ token }) => token)],
      )
      return rows.map(({ seq }) => seq)
    },

    async endAttempts(owner, ends) {
      const rows = await query<{ seq: number }>(
        // Locks rows in the order of seq, so that two statements cannot deadlock. The lateral subquery looks up each ended
        // attempt by the primary key. A plain join can scan the whole table while PostgreSQL has no statistics.
        `with ended as (
          select ended.*, t.handler, t.owner is null as "isRecorded"
          from (
            select * from unnest($2::bigint[], $3::bigint[], $4::int[], $5::float8[], $6::text[], $7::int[])
              as ended (seq, token, state, delay, errors, attempts)
            order by seq
          ) ended, lateral (
            select handler, owner from ${task}
            where seq = ended.seq and handler = '' and token = ended.token and (owner = $1 or owner is null) for update
          ) t
        ), recorded as (
          update ${task} t
          set state = ended.state, due = ${after('ended.delay')}, owner = null, alone = false,
            attempts = coalesce(ended.attempts, t.attempts),
            errors = coalesce(ended.errors, t.errors)
          from ended, ${DURABLE}
          where t.seq = ended.seq and t.handler = ended.handler and not "isRecorded"
          returning t.seq
        )
        select seq from recorded union all select seq from ended where "isRecorded"`,
        [
          owner,
          ends.map(({ seq }) => seq),
          ends.map(({ token }) => token),
          ends.map(({ end }) => stateNumber(end.state)),
          ends.map(({ end }) => (end.state === 'waiting' ? end.delay : 0)),
          ends.map(({ end }) => ('errors' in end ? toErrors(end.errors) : null)),
          ends.map(({ end }) => ('attempts' in end ? end.attempts : null)),
        ],
      )
      return rows.map(({ seq }) => seq)
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

    async list({ state, limit, order, after }) {
      const [than, direction] = order === 'oldest' ? ['>', 'asc'] : ['<', 'desc']
      const from = after ?? (order === 'oldest' ? 0 : Number.MAX_SAFE_INTEGER)
      // One part for each state: together they read a page of each from an index, and never the whole table.
      const states = state ? [stateNumber(state)] : STATES.map((_, number) => number)
      const parts = states.map(
        (
          number,
        ) => `(select * from ${task} where queue = $1 and handler = '' and state = ${number} and seq ${than} $2
          order by seq ${direction} limit $3)`,
      )
      const rows = await query<StoredRow>(
        `select ${ROW}
        from (select * from (${parts.join(' union all ')}) as parts order by seq ${direction} limit $3) t
        join ${delivery} d using (seq) order by t.seq ${direction}`,
        [queue, from, limit + 1],
      )
      return rows.map((row) => ({ seq: row.seq, entry: toEntry(row) }))
    },

    async get(id) {
      if (!isId(id)) return undefined
      const [row] = await query<StoredRow & Content>(
        `select ${ROW}, d.head, ${BODY} from ${delivery} d join ${task} t using (seq)
        where d.queue = $1 and d.id = $2 and t.handler = ''`,
        [queue, id],
      )
      return row && { ...toEntry(row), delivery: readDelivery(toContent(row)).delivery }
    },

    async retry(id) {
      const isRetried = await change(
        `update ${task} t set due = now(), attempts = case state when 3 then 0 else attempts end, state = 0
        from ${delivery} d where d.queue = $1 and d.id = $2 and t.seq = d.seq and t.state in (0, 3, 4) returning 1`,
        id,
      )
      if (isRetried) notifier?.notify()
      return isRetried
    },

    async retryAll(state, after, limit) {
      const rows = await query<{ seq: number }>(
        `with ended as (
          select seq from ${task} where queue = $1 and state = $4 and handler = '' and seq > $2
          order by seq limit $3 for update
        )
        update ${task} t set state = 0, due = now(), attempts = case state when 3 then 0 else attempts end from ended
        where t.seq = ended.seq and t.handler = '' returning t.seq`,
        [queue, after, limit, stateNumber(state)],
      )
      if (rows.length > 0) notifier?.notify()
      return rows.map(({ seq }) => seq).sort((a, b) => a - b)
    },

    discard: (id) =>
      change(
        `with discarded as (
          select t.seq from ${task} t join ${delivery} d using (seq)
          where d.queue = $1 and d.id = $2 and t.state in (0, 3, 4) for update of t
        )
        delete from ${delivery} d using discarded where d.seq = discarded.seq returning 1`,
        id,
      ),

    async purge(state, age, limit) {
      const rows = await query(
        `with ended as (
          select seq, handler from ${task} where queue = $1 and state = $2 and state >= 2 and due <= now() - $3::float8 * interval '1 ms'
          order by due limit $4 for update skip locked
        )
        delete from ${delivery} d using ended where d.seq = ended.seq returning 1`,
        [queue, stateNumber(state), Math.min(MAX_INTERVAL, age), limit],
      )
      return rows.length
    },

    ...(notifier && { watch: notifier.watch }),
    close: database.close,
  }
}

/** @throws {WebhookError} `config_invalid` if a newer version of geohook has made the tables unusable for this one */
async function requireCompatible(query: Query, schema: string): Promise<void> {
  const [meta] = await query<{ version: number; compatible: number }>(
    `select version, compatible from ${schema}.inbox_meta`,
  )
  if (!meta || meta.compatible <= VERSION) return
  throw configInvalid(
    `the tables of the inbox in the schema ${schema} have version ${meta.version}, and this version of geohook supports at most ${VERSION}`,
    'Use the version of geohook that the other processes use, or give the inbox another schema.',
  )
}

/** @throws {WebhookError} `config_invalid` if the role may not use the tables */
async function requireRights(query: Query, schema: string): Promise<void> {
  const [missing] = await query<{ name: string; role: string }>(
    `select name, current_user as role
    from unnest($1::text[]) as tables (name), unnest(array['select', 'insert', 'update', 'delete']) as rights (one)
    where not has_table_privilege($2 || '.' || name, one) limit 1`,
    [
      ['inbox_queue', 'inbox_delivery', 'inbox_task', 'inbox_worker', 'inbox_generation', 'inbox_meta'],
      schema,
    ],
  )
  if (!missing) return
  throw configInvalid(
    `the role ${missing.role} may not use the table ${missing.name} in the schema ${schema}`,
    'Grant it select, insert, update and delete on all tables of the schema: geohook inbox init --print-sql.',
  )
}

type Counts = Awaited<ReturnType<DeliveriesTable['counts']>>

/** A complete count that takes longer than this, in milliseconds, is made in the background. */
const MAX_COUNT_TIME = 20

/** If it is made in the background, numbers up to this are still counted for each call. */
const EXACT = 1_000

/** Milliseconds after which a complete count is repeated in the background, and after which a call waits for it. */
const [COUNT_AGE, MAX_COUNT_AGE] = [2_000, 10_000]

/** Creates a function that counts deliveries. No call waits long, however many there are. */
function createCounts(query: Query, schema: string, queue: string): DeliveriesTable['counts'] {
  const task = `${schema}.inbox_task`
  const OLDEST = `select -1 as state, 0 as number, (
    select ${toMilliseconds('received')} from ${task} t join ${schema}.inbox_delivery using (seq)
    where t.queue = $1 and t.state = 0 order by seq limit 1
  ) as oldest`
  const ALL = `select state::int, count(*) as number, null::float8 as oldest from ${task} where queue = $1 group by state`
  const SOME = STATES.map(
    (_, state) => `select ${state} as state, count(*) as number, null::float8 as oldest from (
      select from ${task} where queue = $1 and state = ${state} limit ${EXACT + 1}) as counted`,
  ).join(' union all ')
  let complete: Counts = forEachState(() => 0)
  let completedAt = -Infinity
  let duration = 0
  let counting: Promise<Counts> | undefined

  async function count(text: string): Promise<Counts> {
    const rows = await query<{ state: number; number: number; oldest: number | null }>(
      `${text} union all ${OLDEST}`,
      [queue],
    )
    const number = (state: InboxState) => rows.find((row) => STATES[row.state] === state)?.number ?? 0
    const oldest = rows.find(({ state }) => state === -1)?.oldest
    return { ...forEachState(number), ...(typeof oldest === 'number' && { oldest: new Date(oldest) }) }
  }

  async function countAll(): Promise<Counts> {
    const started = performance.now()
    try {
      complete = await count(ALL)
      completedAt = performance.now()
      duration = completedAt - started
      return complete
    } finally {
      counting = undefined
    }
  }

  return async () => {
    if (duration <= MAX_COUNT_TIME) return countAll()
    const counts = await count(SOME)
    const isLarge = STATES.some((state) => counts[state] > EXACT)
    const age = performance.now() - completedAt
    if (isLarge && age > COUNT_AGE) counting ??= countAll()
    if (isLarge && age > MAX_COUNT_AGE) await counting
    else counting?.catch(() => {})
    for (const state of STATES)
      if (counts[state] > EXACT) counts[state] = Math.max(counts[state], complete[state])
    return counts
  }
}

import { driverError, preload } from '../driver.ts'
import { answerWithin } from '../time-limit.ts'
import type { PostgresLocation, PostgresPool } from './options.ts'
import { isMissing, isRetryable } from './sqlstates.ts'

/** Maximum milliseconds to connect to the server. */
const CONNECT_TIMEOUT = 3_000

/** Maximum milliseconds that a call waits for the server, because an HTTP client is waiting for its response. */
export const CALL_TIMEOUT = 5_000

/**
 * Maximum milliseconds that a statement may take. Without a limit, pg would wait forever on a dead connection. The limit
 * exceeds `CALL_TIMEOUT`: while a statement waits for a lock, the server keeps its connection, even if the client has
 * closed it, and the pool would open another one.
 */
const STATEMENT_TIMEOUT = 30_000

/** Maximum number of tries of a statement or a transaction that other transactions keep from its end. */
const MAX_TRIES = 5

/** The pools of users whose errors are listened to. */
const guarded = new WeakSet<PostgresPool>()

/**
 * Milliseconds after which the server ends a transaction whose process is suspended, also while it reads a large
 * result. Other processes may wait for its lock.
 */
const IDLE_TIMEOUT = 10_000

/** The part of a client of `pg` that transactions use. */
interface Client extends Pick<PostgresPool, 'query' | 'on'> {
  off(event: 'error', listener: (error: Error) => void): unknown
  release(destroy: boolean): void
}

/** The tables that a store needs. */
export interface Tables {
  /** What they contain, in the plural, for error messages. */
  contents: string
  /** A table that exists as soon as all of them do. */
  table: string
  /** Statements that create them if they are missing. */
  createSql: string
  /** Throws if this version of geohook cannot use the tables. Called at the start, and once a second in use. */
  check?(query: Query, isStart: boolean): Promise<void>
}

/** Runs a statement. Numbers and booleans are decoded, everything else is text. */
export type Query = <Row>(text: string, values?: readonly unknown[]) => Promise<Row[]>

/** SQL for a time in milliseconds since 1970. */
export const toMilliseconds = (time: string): string => `(extract(epoch from ${time}) * 1000)::float8`

/** A database, which is connected on first use. */
export interface Database {
  /** Runs a statement, and waits at most `CALL_TIMEOUT`. The tables are created first if they are missing. */
  query: Query
  /** Like `query`, but waits for as long as the statement may take: its answer must not be lost. */
  queryPatiently: Query
  /**
   * Runs statements in a transaction, while no other process runs one with the same lock. Repeats them after a deadlock or
   * a serialization failure.
   */
  transaction<Result>(lock: string, run: (query: Query) => Promise<Result>): Promise<Result>
  /** The pool, after the tables were created or found. */
  open(): Promise<PostgresPool>
  close(): Promise<void>
}

/** Milliseconds between two calls of `check`. */
const CHECK_INTERVAL = 1_000

/** Opens a database. A pool of the user's is not ended. */
export function createDatabase(
  { connectionString, pool, schema }: PostgresLocation,
  tables: Tables,
): Database {
  const { contents, table, createSql, check } = tables
  const packages = pool ? undefined : preload(() => loadPg(contents))
  let opening: Promise<PostgresPool> | undefined
  let own: (PostgresPool & { end(): Promise<void> }) | undefined
  let closed = false
  let checkedAt = -Infinity
  let isIncomplete = false
  // An idle connection that fails would end the process without a listener. The next call reports the failure.
  if (pool && !guarded.has(pool)) {
    guarded.add(pool)
    pool.on('error', ignore)
  }

  async function connect(): Promise<PostgresPool> {
    if (packages) {
      const { default: pg } = await packages()
      own ??= new pg.Pool({
        connectionString,
        application_name: 'geohook',
        connectionTimeoutMillis: CONNECT_TIMEOUT,
      }).on('error', ignore)
    }
    const connected = pool ?? (own as PostgresPool)
    await ensureTables(connected)
    return connected
  }

  async function ensureTables(connected: PostgresPool): Promise<void> {
    const query: Query = (text, values) => run(connected, text, values)
    // Check first, so that a database user without the right to create tables can use existing ones.
    const find = 'select to_regclass($1) is not null as found, to_regnamespace($2) is not null as "hasSchema"'
    const [found] = await query<{ found: boolean; hasSchema: boolean }>(find, [table, schema])
    // The lock is held until the end of the statements, which are one transaction.
    const lock = `select pg_advisory_xact_lock(hashtext('geohook ${table}'))`
    const createSchema = found?.hasSchema ? '' : `create schema if not exists ${schema};`
    if (!found?.found || isIncomplete) {
      // A newer version may have removed what shows that the tables exist.
      await check?.(query, false).catch((error) => {
        if (!isMissing(error)) throw error
      })
      await query(`${lock}; ${createSchema} ${createSql}`)
    }
    isIncomplete = false
    await check?.(query, true)
    checkedAt = performance.now()
  }

  async function open(): Promise<PostgresPool> {
    if (closed) throw new Error(`the store of ${contents} is closed`)
    opening ??= connect().catch((error) => {
      opening = undefined
      throw error
    })
    return opening
  }

  async function query<Row>(text: string, values?: readonly unknown[]): Promise<Row[]> {
    const connected = await open()
    try {
      if (check && performance.now() - checkedAt > CHECK_INTERVAL) {
        checkedAt = performance.now()
        await check((...statement) => run(connected, ...statement), false)
      }
      return await run(connected, text, values)
    } catch (error) {
      checkedAt = -Infinity // the next call reports again that the tables are too new
      if (isMissing(error)) {
        // The next call creates the missing tables.
        isIncomplete = true
        opening = undefined
      }
      throw error
    }
  }

  async function transactOnce<Result>(lock: string, run: (query: Query) => Promise<Result>): Promise<Result> {
    const client = (await (await open()).connect()) as Client
    // The server can end the connection between two statements. The next one reports the failure.
    client.on('error', ignore)
    let failed: unknown
    try {
      const inside: Query = (text, values) => runOnce(client, text, values)
      // Whatever the default is: the statement after the lock must see what its previous holder has committed.
      await inside('begin isolation level read committed')
      await inside(
        `select set_config('idle_in_transaction_session_timeout', '${IDLE_TIMEOUT}', true),
          set_config('tcp_user_timeout', '${IDLE_TIMEOUT}', true), pg_advisory_xact_lock(hashtext($1))`,
        [lock],
      )
      const result = await run(inside)
      await inside('commit')
      return result
    } catch (error) {
      failed = error
      throw error
    } finally {
      client.off('error', ignore)
      client.release(failed !== undefined) // a destroyed connection rolls the transaction back
    }
  }

  return {
    query: (text, values) => withTimeout(query(text, values)),
    queryPatiently: query,
    transaction: (lock, run) => repeat(() => transactOnce(lock, run)),
    open,
    async close() {
      closed = true
      await opening?.catch(() => {})
      // Must end even if the server is unreachable.
      await withTimeout(own?.end() ?? Promise.resolve()).catch(() => {})
    },
  }
}

const ignore = (): void => {}

/** Calls a function, and repeats it after a deadlock or a serialization failure. */
async function repeat<Result>(call: () => Promise<Result>): Promise<Result> {
  for (let tries = 1; ; tries++) {
    try {
      return await call()
    } catch (error) {
      if (tries === MAX_TRIES || !isRetryable(error)) throw error
    }
  }
}

const run = <Row>(pool: PostgresPool, text: string, values?: readonly unknown[]): Promise<Row[]> =>
  repeat(() => runOnce(pool, text, values))

/** The parsers are given with each statement, because an application may have replaced those of `pg`. */
async function runOnce<Row>(
  connection: Pick<PostgresPool, 'query'>,
  text: string,
  values: readonly unknown[] = [],
): Promise<Row[]> {
  const rest = values.length > 0 && { values }
  const statement = { text, types: TYPES, query_timeout: STATEMENT_TIMEOUT, ...rest }
  return (await connection.query(statement)).rows as Row[]
}

/** Parsers by the id of the type: int8, int2, int4, float8 and bool. */
const PARSERS: Readonly<Record<number, (text: string) => unknown>> = {
  20: Number,
  21: Number,
  23: Number,
  701: Number,
  16: (text) => text === 't',
}
const TYPES = { getTypeParser: (id: number) => PARSERS[id] ?? ((text: string) => text) }

/** Rejects if `work` takes longer than `CALL_TIMEOUT`. */
export const withTimeout = <T>(work: Promise<T>): Promise<T> => answerWithin(CALL_TIMEOUT, 'PostgreSQL', work)

async function loadPg(purpose: string): Promise<typeof import('pg')> {
  try {
    return await import('pg')
  } catch (cause) {
    throw driverError(`${purpose} in PostgreSQL need the package pg: npm install pg`, cause)
  }
}

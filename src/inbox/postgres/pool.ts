import type { Pool, QueryResult, QueryResultRow } from 'pg'
import { preload } from '../driver.ts'
import { loadPg } from './packages.ts'
import { isCreatedConcurrently, isMissing } from './sqlstates.ts'
import { CALL_TIMEOUT, CONNECT_TIMEOUT } from './timeout.ts'

/** A table that needs only the package `pg`. */
export interface PoolOptions {
  connectionString: string
  /** Name of the table, with its schema. */
  table: string
  /** Statements that create the table if it is missing. */
  createSql: string
  /** What the table contains, in the plural, for error messages. */
  contents: string
}

/** A pool of connections that opens on first use. */
export interface TablePool {
  /** Runs a statement. The table is created first if it is missing. */
  query<Row extends QueryResultRow>(text: string, values: readonly unknown[]): Promise<QueryResult<Row>>
  close(): Promise<void>
}

export function createPool({ connectionString, table, createSql, contents }: PoolOptions): TablePool {
  const packages = preload(() => loadPg(contents))
  let opening: Promise<Pool> | undefined
  let closed = false

  async function open(): Promise<Pool> {
    const { default: pg } = await packages()
    const pool = new pg.Pool({
      connectionString,
      application_name: 'geohook',
      connectionTimeoutMillis: CONNECT_TIMEOUT,
      query_timeout: CALL_TIMEOUT,
    })
    pool.on('error', () => {}) // ignores errors of idle connections: the next call reports them
    try {
      await ensureTable(pool)
      return pool
    } catch (error) {
      void pool.end()
      throw error
    }
  }

  async function ensureTable(pool: Pool): Promise<void> {
    for (let tries = 1; ; tries++) {
      // Check first, so that a database user without the right to create tables can use an existing table.
      const { rows } = await pool.query('select to_regclass($1) as found', [table])
      if (rows[0]?.found) return
      try {
        await pool.query(createSql)
      } catch (error) {
        if (tries === 5 || !isCreatedConcurrently(error)) throw error
      }
    }
  }

  return {
    async query(text, values) {
      if (closed) throw new Error(`the store of ${contents} is closed`)
      opening ??= open().catch((error) => {
        opening = undefined
        throw error
      })
      const pool = await opening
      try {
        return await pool.query(text, [...values])
      } catch (error) {
        // Create the missing table, so that the next call succeeds.
        if (isMissing(error)) await ensureTable(pool).catch(() => {})
        throw error
      }
    },
    async close() {
      closed = true
      const pool = await opening?.catch(() => undefined)
      opening = undefined
      await pool?.end()
    },
  }
}

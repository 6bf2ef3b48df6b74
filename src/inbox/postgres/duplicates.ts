import type { Pool } from 'pg'
import type { DuplicatesTable } from '../duplicates.ts'
import { loadPg } from './packages.ts'
import { createDuplicatesSql, MAX_INTERVAL } from './schema.ts'
import { isCreatedConcurrently, isMissing } from './sqlstates.ts'
import { CALL_TIMEOUT, CONNECT_TIMEOUT } from './timeout.ts'

/** Minimum milliseconds between two removals of expired claims. */
const SWEEP_INTERVAL = 10_000

/** Maximum number of claims removed in one statement. */
const SWEEP_BATCH = 1_000

/** Creates a table of claims in PostgreSQL. The database table is created if it is missing. */
export function createPostgresDuplicatesTable(connectionString: string, schema: string): DuplicatesTable {
  const table = `${schema}.duplicates`
  let opening: Promise<Pool> | undefined
  let closed = false
  let sweptAt = 0

  async function open(): Promise<Pool> {
    const { default: pg } = await loadPg()
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
        await pool.query(createDuplicatesSql(schema, table))
      } catch (error) {
        if (tries === 5 || !isCreatedConcurrently(error)) throw error
      }
    }
  }

  async function query(text: string, values: unknown[]): Promise<{ rows: { claim?: unknown }[] }> {
    if (closed) throw new Error('the store of duplicates is closed')
    opening ??= open().catch((error) => {
      opening = undefined
      throw error
    })
    const pool = await opening
    try {
      return await pool.query(text, values)
    } catch (error) {
      // Create the missing table, so that the next call succeeds.
      if (isMissing(error)) await ensureTable(pool).catch(() => {})
      throw error
    }
  }

  /** Removes expired claims in the background. Errors are ignored, because expired claims have no effect. */
  function sweep(): void {
    if (performance.now() - sweptAt < SWEEP_INTERVAL) return
    sweptAt = performance.now()
    query(
      `delete from ${table} where id in (
        select id from ${table} where until <= now() limit ${SWEEP_BATCH} for update skip locked
      )`,
      [],
    ).catch(() => {})
  }

  return {
    async claim(id, owner, lease) {
      const { rows } = await query(
        `with taken as (
          insert into ${table} as kept (id, owner, until)
          values ($1, $2, now() + $3::float8 * interval '1 ms')
          on conflict (id) do update set owner = excluded.owner, until = excluded.until
          where kept.until <= now()
          returning id
        )
        select case
          when exists (select from taken) then 'claimed'
          when exists (select from ${table} where id = $1 and owner is null) then 'done'
          else 'busy'
        end as claim`,
        [id, owner, lease],
      )
      sweep()
      return rows[0]?.claim as 'claimed' | 'busy' | 'done'
    },

    async renew(ids, owner, lease) {
      await query(
        `update ${table} set until = now() + $3::float8 * interval '1 ms' where id = any($1) and owner = $2`,
        [ids, owner, lease],
      )
    },

    async done(id, retention) {
      await query(
        `insert into ${table} (id, until) values ($1, now() + $2::float8 * interval '1 ms')
        on conflict (id) do update set owner = null, until = excluded.until`,
        [id, Math.min(retention, MAX_INTERVAL)],
      )
    },

    async release(id, owner) {
      await query(`delete from ${table} where id = $1 and owner = $2`, [id, owner])
    },

    async close() {
      closed = true
      const pool = await opening?.catch(() => undefined)
      opening = undefined
      await pool?.end()
    },
  }
}

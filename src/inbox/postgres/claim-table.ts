import type { Pool } from 'pg'
import type { ClaimTable } from '../claims.ts'
import { ANSWER_WITHIN, CONNECT_WITHIN, GONE } from './bounded.ts'

/** Milliseconds between two looks for what is void. */
const SWEEP = 10_000

/** So many are removed in one go. */
const AT_ONCE = 1_000

/** What PostgreSQL says to who makes what another makes at the same time. */
const MADE_MEANWHILE = ['23505', '42P06', '42P07']

/** Claims in a table of their own, made when it is missing. What is done is a claim without an owner. */
export function createPostgresClaims(connectionString: string, schema: string): ClaimTable {
  const table = `${schema}.duplicates`
  let opening: Promise<Pool> | undefined
  let closed = false
  let sweptAt = 0

  async function open(): Promise<Pool> {
    const { default: pg } = await loadPg()
    const pool = new pg.Pool({
      connectionString,
      application_name: 'geohook',
      connectionTimeoutMillis: CONNECT_WITHIN,
      query_timeout: ANSWER_WITHIN,
    })
    pool.on('error', () => {}) // of a connection at rest: the next call says what there is to say
    try {
      await makeTable(pool)
      return pool
    } catch (error) {
      void pool.end()
      throw error
    }
  }

  async function makeTable(pool: Pool): Promise<void> {
    for (let tries = 1; ; tries++) {
      // Who may not make tables can use one that is there.
      const { rows } = await pool.query('select to_regclass($1) as found', [table])
      if (rows[0]?.found) return
      try {
        await pool.query(
          `create schema if not exists ${schema};
          create table if not exists ${table} (id text primary key, owner text, until timestamptz not null);
          create index if not exists duplicates_until on ${table} (until)`,
        )
      } catch (error) {
        if (tries === 5 || !MADE_MEANWHILE.includes((error as { code: string }).code)) throw error
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
      // The next call finds it again.
      if (GONE.includes((error as { code?: unknown }).code)) await makeTable(pool).catch(() => {})
      throw error
    }
  }

  /** Nobody waits for it: what is void does no harm. */
  function sweep(): void {
    if (performance.now() - sweptAt < SWEEP) return
    sweptAt = performance.now()
    query(
      `delete from ${table} where id in (
        select id from ${table} where until <= now() limit ${AT_ONCE} for update skip locked
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
        [id, Math.min(retention, 3e13)],
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

async function loadPg(): Promise<typeof import('pg')> {
  try {
    return await import('pg')
  } catch (cause) {
    throw new Error('duplicates in PostgreSQL need the package pg: npm install pg', { cause })
  }
}

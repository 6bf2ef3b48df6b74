import type { DuplicatesTable } from '../duplicates.ts'
import { createDatabase } from './database.ts'
import type { PostgresLocation } from './options.ts'
import { createDuplicatesSql, MAX_INTERVAL } from './schema.ts'

/** Minimum milliseconds between two removals of expired claims. */
const SWEEP_INTERVAL = 10_000

/** Maximum number of claims removed in one statement. */
const SWEEP_BATCH = 1_000

/** Creates a table of claims in PostgreSQL. The database table is created if it is missing. */
export function createPostgresDuplicatesTable(location: PostgresLocation): DuplicatesTable {
  const table = `${location.schema}.duplicates`
  const createSql = createDuplicatesSql(table)
  const { query, close } = createDatabase(location, { table, createSql, contents: 'duplicates' })
  let sweptAt = 0

  /** Removes expired claims in the background. Errors are ignored, because expired claims have no effect. */
  function sweep(): void {
    if (performance.now() - sweptAt < SWEEP_INTERVAL) return
    sweptAt = performance.now()
    query(
      `delete from ${table} where id in (
        select id from ${table} where until <= now() limit ${SWEEP_BATCH} for update skip locked
      )`,
    ).catch(() => {})
  }

  return {
    async claim(id, owner, lease) {
      const [row] = await query<{ claim: 'claimed' | 'busy' | 'done' }>(
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
      return row?.claim ?? 'busy'
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

    close,
  }
}

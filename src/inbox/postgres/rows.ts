import { type RowStore, type SelectedRow, toKnownRow } from '../rows.ts'
import { createDatabase } from './database.ts'
import type { PostgresLocation } from './options.ts'
import { createRowsSql } from './schema.ts'

const REMOVED_PER_STATEMENT = 10_000

/** The first parameter as a key of fixed length, because PostgreSQL limits the size of index entries. */
const SERVICE = `substring(sha256(convert_to($1, 'UTF8')) for 16)`

/** Creates a row store in PostgreSQL. The table is created if it is missing. */
export function createPostgresRowsTable(location: PostgresLocation, maxRows: number): RowStore {
  const table = `${location.schema}.known_rows`
  const createSql = createRowsSql(table)
  const { query, close } = createDatabase(location, { table, createSql, contents: 'rows' })
  /** Counting all rows after each call would be slow, so this process exceeds the limit by at most 1 %. */
  const writesPerSweep = Math.ceil(maxRows / 100)
  let writes = writesPerSweep

  /** Removes a batch of rows. Concurrent writers do not wait for it, and it does not wait for them. */
  async function remove(condition: string, values: readonly unknown[]): Promise<void> {
    for (let removed = REMOVED_PER_STATEMENT; removed === REMOVED_PER_STATEMENT; )
      removed = (
        await query(
          `delete from ${table} where written = any(array(
            select written from ${table} where ${condition} limit ${REMOVED_PER_STATEMENT} for update skip locked
          )) returning 1`,
          values,
        )
      ).length
  }

  async function sweep(): Promise<void> {
    writes = 0
    await remove(
      `written <= (select written from ${table} order by written desc offset $1 limit 1) order by written`,
      [maxRows],
    )
  }

  return {
    async read(layer, keys, objectIds) {
      const rows = await query<SelectedRow>(
        `select key, object_id as "objectId", generation, value from ${table}
        where service = ${SERVICE} and layer = $2 and key = any($3)
        union
        select key, object_id, generation, value from ${table}
        where service = ${SERVICE} and layer = $2 and object_id = any($4)`,
        [layer.service, layer.id, keys, objectIds],
      )
      return rows.map(toKnownRow)
    },

    async write({ service, id }, rows, generation) {
      await query(
        // Sorted, because statements that lock the same rows in different orders can deadlock.
        `insert into ${table} as kept (service, layer, key, object_id, generation, value)
        select ${SERVICE}, $2, key, object_id, $3, value
        from unnest($4::text[], $5::text[], $6::text[]) as given (key, object_id, value) order by key
        on conflict (service, layer, key) do update set object_id = excluded.object_id,
          generation = excluded.generation, value = excluded.value, written = excluded.written
        where kept.generation <= excluded.generation`,
        [
          service,
          id,
          generation,
          rows.map(({ key }) => key),
          rows.map(({ objectId }) => objectId ?? null),
          rows.map(({ value }) => value ?? null),
        ],
      )
      writes += rows.length
      if (writes >= writesPerSweep) await sweep()
    },

    forget: (service) => remove(`service = ${SERVICE}`, [service]),
    close,
  }
}

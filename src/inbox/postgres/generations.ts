import type { PgBoss } from 'pg-boss'
import type { GenerationStore } from '../generations.ts'
import type { JobsLocation } from './connection.ts'
import { createGenerationsSql } from './schema.ts'
import { isCreatedConcurrently, isMissing } from './sqlstates.ts'

/** The higher of two values, for each layer that has a value in one of them. */
const HIGHEST = `select jsonb_object_agg(layer, generation) from (
  select key as layer, max(value::bigint) as generation
  from (
    select * from jsonb_each_text(kept.generations) union all select * from jsonb_each_text(excluded.generations)
  ) as both_of_them
  group by key
) as highest`

/**
 * Creates a store of generations in the schema of pg-boss, over pg-boss's connection. All layers of a service are in
 * one row, so that concurrent changes lock one row only, and cannot deadlock.
 */
export function createPostgresGenerations({ connection, schema, queue }: JobsLocation): GenerationStore {
  const table = `${schema}.generations`
  let hasTable = false

  async function ensureTable(boss: PgBoss): Promise<void> {
    for (let tries = 1; !hasTable; tries++) {
      // Check first, so that a database user without the right to create tables can use an existing table.
      const { rows } = await boss.getDb().executeSql('select to_regclass($1) as found', [table])
      try {
        if (!rows[0]?.found) await boss.getDb().executeSql(createGenerationsSql(table))
        hasTable = true
      } catch (error) {
        if (tries === 5 || !isCreatedConcurrently(error)) throw error
      }
    }
  }

  const query = (text: string, ...values: unknown[]): Promise<{ generations?: unknown }[]> =>
    connection.runInTime(async (boss) => {
      await ensureTable(boss)
      try {
        return (await boss.getDb().executeSql(text, [queue, ...values])).rows
      } catch (error) {
        // The next call creates the missing table.
        if (isMissing(error)) hasTable = false
        throw error
      }
    })

  return {
    async get(service) {
      const [row] = await query(`select generations from ${table} where queue = $1 and service = $2`, service)
      const stored = Object.entries((row?.generations ?? {}) as Record<string, number>)
      return new Map(stored.map(([layer, generation]) => [Number(layer), generation]))
    },
    async raise(service, generations) {
      await query(
        `insert into ${table} as kept (queue, service, generations) values ($1, $2, $3)
        on conflict (queue, service) do update set generations = (${HIGHEST})`,
        service,
        toJson(generations),
      )
    },
    async replace(service, generations) {
      if (generations.size === 0) {
        await query(`delete from ${table} where queue = $1 and service = $2`, service)
        return
      }
      await query(
        `insert into ${table} (queue, service, generations) values ($1, $2, $3)
        on conflict (queue, service) do update set generations = excluded.generations`,
        service,
        toJson(generations),
      )
    },
  }
}

const toJson = (generations: ReadonlyMap<number, number>): string =>
  JSON.stringify(Object.fromEntries(generations))

import type { GenerationStore } from '../generations.ts'
import type { Query } from './database.ts'

/** The higher of two values, for each layer that has a value in one of them. */
const HIGHEST = `select jsonb_object_agg(layer, generation) from (
  select key as layer, max(value::bigint) as generation
  from (
    select * from jsonb_each_text(kept.generations) union all select * from jsonb_each_text(excluded.generations)
  ) as both_of_them
  group by key
) as highest`

/**
 * Creates a store of generations. All layers of a service are in one row for each handler, so that concurrent raises lock
 * one row only, and cannot deadlock.
 */
export function createPostgresGenerations(query: Query, schema: string, queue: string): GenerationStore {
  const table = `${schema}.inbox_generation`
  const upsert = (value: string): string =>
    `insert into ${table} as kept (queue, service, handler, generations) values ($1, $2, $3, $4)
    on conflict (queue, handler, service) do update set generations = ${value}`
  const toJson = (generations: ReadonlyMap<number, number>): string =>
    JSON.stringify(Object.fromEntries(generations))

  return {
    async get(service, handler = '') {
      const [row] = await query<{ generations: string }>(
        `select generations from ${table} where queue = $1 and service = $2 and handler = $3`,
        [queue, service, handler],
      )
      const stored = Object.entries<number>(JSON.parse(row?.generations ?? '{}'))
      return new Map(stored.map(([layer, generation]) => [Number(layer), generation]))
    },
    async raise(service, generations, handler = '') {
      await query(upsert(`(${HIGHEST})`), [queue, service, handler, toJson(generations)])
    },
    async replace(service, generations) {
      const remove = `delete from ${table} where queue = $1 and service = $2`
      if (generations.size === 0) await query(remove, [queue, service])
      else
        await query(`with removed as (${remove} and handler <> $3) ${upsert('excluded.generations')}`, [
          queue,
          service,
          '',
          toJson(generations),
        ])
    },
  }
}

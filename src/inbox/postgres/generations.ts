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
 * Creates a store of generations. All layers of a service are in one row, so that concurrent changes lock one row only,
 * and cannot deadlock.
 */
export function createPostgresGenerations(query: Query, schema: string, queue: string): GenerationStore {
  const table = `${schema}.inbox_generation`
  const key = "queue = $1 and handler = '' and service = $2"

  const upsert = async (service: string, generations: ReadonlyMap<number, number>, value: string) => {
    await query(
      `insert into ${table} as kept (queue, handler, service, generations) values ($1, '', $2, $3)
      on conflict (queue, handler, service) do update set generations = ${value}`,
      [queue, service, JSON.stringify(Object.fromEntries(generations))],
    )
  }

  return {
    async get(service) {
      const [row] = await query<{ generations: string }>(`select generations from ${table} where ${key}`, [
        queue,
        service,
      ])
      const stored = Object.entries<number>(JSON.parse(row?.generations ?? '{}'))
      return new Map(stored.map(([layer, generation]) => [Number(layer), generation]))
    },
    raise: (service, generations) => upsert(service, generations, `(${HIGHEST})`),
    async replace(service, generations) {
      if (generations.size > 0) return upsert(service, generations, 'excluded.generations')
      await query(`delete from ${table} where ${key}`, [queue, service])
    },
  }
}

import type { GenerationStore } from '../generations.ts'
import type { Connection } from './connection.ts'
import type { OpenedQueue } from './queue.ts'

/** Redis has no numbers, only text. Lua's numbers are doubles, which hold every safe integer exactly. */
const RAISE = `for index = 1, #ARGV, 2 do
  local kept = redis.call('HGET', KEYS[1], ARGV[index])
  if not kept or tonumber(kept) < tonumber(ARGV[index + 1]) then
    redis.call('HSET', KEYS[1], ARGV[index], ARGV[index + 1])
  end
end`

const REPLACE = `redis.call('DEL', KEYS[1])
for index = 1, #ARGV, 2 do redis.call('HSET', KEYS[1], ARGV[index], ARGV[index + 1]) end`

/** Creates a store of generations: one hash for each service. Job ids begin with `delivery-`, so the keys differ. */
export function createRedisGenerations(run: Connection<OpenedQueue>['run']): GenerationStore {
  const change = (script: string, service: string, generations: ReadonlyMap<number, number>): Promise<void> =>
    run(async ({ queue, client }) => {
      await client.eval(script, 1, queue.toKey(`generations:${service}`), ...[...generations].flat())
    })

  return {
    get: (service) =>
      run(async ({ queue, client }) => {
        const stored = Object.entries(await client.hgetall(queue.toKey(`generations:${service}`)))
        return new Map(stored.map(([layer, generation]) => [Number(layer), Number(generation)]))
      }),
    raise: (service, generations) => change(RAISE, service, generations),
    replace: (service, generations) => change(REPLACE, service, generations),
  }
}

import type { Redis } from 'ioredis'
import type { ClaimTable } from '../claims.ts'
import { createConnection } from './connection.ts'

/** What a key holds for a delivery that is done; for one that is at work it is who has it. */
const DONE = 'done'

const CLAIM = `
local owner = redis.call('GET', KEYS[1])
if owner == '${DONE}' then return 'done' end
if owner then return 'busy' end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 'claimed'`

/** Also what has lapsed, and nobody else has taken: the process lives, but its event loop stood still. */
const RENEW = `
local owner = redis.call('GET', KEYS[1])
if owner and owner ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1`

const RELEASE = `
if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end
return 0`

/** Claims as keys that expire: one key for each delivery, so it does not matter on which node of a cluster it is. */
export function createRedisClaims(url: string, prefix: string): ClaimTable {
  const connection = createConnection<Redis>({
    url,
    open: async (client) => client,
    onError() {}, // whoever asks is told
  })
  const keyOf = (id: string) => `${prefix}:duplicates:${id}`

  return {
    claim: (id, owner, lease) =>
      connection.run(
        async (client) =>
          (await client.eval(CLAIM, 1, keyOf(id), owner, lease)) as 'claimed' | 'busy' | 'done',
      ),
    renew: (ids, owner, lease) =>
      connection.run(async (client) => {
        await Promise.all(ids.map((id) => client.eval(RENEW, 1, keyOf(id), owner, lease)))
      }),
    done: (id, retention) =>
      connection.run(async (client) => {
        await client.set(keyOf(id), DONE, 'PX', retention)
      }),
    release: (id, owner) =>
      connection.run(async (client) => {
        await client.eval(RELEASE, 1, keyOf(id), owner)
      }),
    close: connection.close,
  }
}

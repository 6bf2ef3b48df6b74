import type { Redis } from 'ioredis'
import type { DuplicatesTable } from '../duplicates.ts'
import { createConnection } from './connection.ts'

/** Value of a delivery's key after the delivery is done. Before that, the value is the owner of the claim. */
const DONE = 'done'

const CLAIM = `
local owner = redis.call('GET', KEYS[1])
if owner == '${DONE}' then return 'done' end
if owner then return 'busy' end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 'claimed'`

/**
 * Renews a claim, even an expired one that no other process has taken: it may have expired because the event loop was
 * blocked.
 */
const RENEW = `
local owner = redis.call('GET', KEYS[1])
if owner and owner ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1`

const RELEASE = `
if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end
return 0`

/** Creates a table of claims: one expiring key per delivery. The keys may be on different nodes of a cluster. */
export function createRedisDuplicatesTable(url: string, prefix: string): DuplicatesTable {
  const connection = createConnection<Redis>({
    url,
    open: async (client) => client,
    onError() {}, // ignored: the caller receives the error
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

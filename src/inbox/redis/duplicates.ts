import type { DuplicatesTable } from '../duplicates.ts'

/** The method of an ioredis client (`Redis` or `Cluster`) that the store calls. */
export interface RedisConnection {
  /** Runs a Lua script on the server, and resolves with its result. */
  eval(script: string, numberOfKeys: number, ...keysAndValues: (string | number)[]): Promise<unknown>
}

/**
 * Milliseconds to wait for a reply. The limit is short, because an HTTP client is waiting for the response; the
 * client's own limits are longer by default.
 */
const CALL_TIMEOUT = 3_000

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

const RECORD_DONE = `return redis.call('SET', KEYS[1], '${DONE}', 'PX', ARGV[1])`

const RELEASE = `
if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end
return 0`

/** Creates a table of claims: one expiring key per delivery. The keys may be on different nodes of a cluster. */
export function createRedisDuplicatesTable(connection: RedisConnection, prefix: string): DuplicatesTable {
  const run = (script: string, id: string, ...values: (string | number)[]) =>
    withTimeout(connection.eval(script, 1, `${prefix}:duplicates:${id}`, ...values))

  return {
    claim: async (id, owner, lease) => (await run(CLAIM, id, owner, lease)) as 'claimed' | 'busy' | 'done',
    async renew(ids, owner, lease) {
      await Promise.all(ids.map((id) => run(RENEW, id, owner, lease)))
    },
    async done(id, retention) {
      await run(RECORD_DONE, id, retention)
    },
    async release(id, owner) {
      await run(RELEASE, id, owner)
    },
    async close() {},
  }
}

/** Rejects if a call takes longer than `CALL_TIMEOUT`, because a client may wait for its server without a limit. */
async function withTimeout(call: Promise<unknown>): Promise<unknown> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`Redis has not answered for ${CALL_TIMEOUT} ms`)), CALL_TIMEOUT)
  })
  try {
    return await Promise.race([call, timeout])
  } finally {
    clearTimeout(timer)
  }
}

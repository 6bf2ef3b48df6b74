import { checkOptions, must, type OptionNames, requireValue } from '../../options.ts'
import {
  type ClosableDuplicateStore,
  createDuplicates,
  DUPLICATES_OPTIONS,
  type DuplicatesOptions,
  type DuplicatesTable,
} from '../duplicates.ts'
import { answerWithin } from '../time-limit.ts'

/** The method of an ioredis client (`Redis` or `Cluster`) that the store calls. */
export interface RedisConnection {
  /** Runs a Lua script on the server, and resolves with its result. */
  eval(script: string, numberOfKeys: number, ...keysAndValues: (string | number)[]): Promise<unknown>
}

/** Options of {@link createRedisDuplicates}. */
export interface RedisDuplicatesOptions extends DuplicatesOptions {
  /** An ioredis client, `Redis` or `Cluster`. `close()` of the store does not close it. */
  connection: RedisConnection
  /** Prefix of every key, 1 to 200 characters without control characters. Default `geohook`. */
  prefix?: string | undefined
}

const isConnection = /* @__PURE__ */ must(
  'be an ioredis client, for example new Redis(url)',
  (value) => typeof (value as Partial<RedisConnection> | null | undefined)?.eval === 'function',
)

const NAMES: OptionNames<RedisDuplicatesOptions> = {
  ...DUPLICATES_OPTIONS,
  connection: isConnection,
  prefix: /* @__PURE__ */ must(
    'be 1 to 200 characters, none of them a control character',
    (value) => typeof value === 'string' && /^[^\p{Cc}]{1,200}$/u.test(value),
  ),
}

/**
 * Creates a duplicate store in Redis for any number of processes: it remembers which deliveries are in progress and
 * which are done. It uses an ioredis client that you create and close. A call fails after 3 s without a reply.
 *
 * A delivery whose claim Redis loses can be handled again. Redis loses:
 *
 * - with `appendonly no`, the claims since the last snapshot, or all claims, if the server restarts
 * - with `appendonly yes` and `appendfsync everysec`, the last second of claims, if the machine crashes
 * - with a `maxmemory-policy` other than `noeviction`, any claim, if the memory is full
 * - with replicas, the claims that the new primary had not received, if a failover happens
 *
 * @throws {WebhookError} `config_invalid`
 * @example
 * ```ts
 * import { createReceiver } from 'geohook'
 * import { createRedisDuplicates } from 'geohook/redis'
 * import { Redis } from 'ioredis'
 *
 * const connection = new Redis(process.env.REDIS_URL ?? 'redis://127.0.0.1:6379')
 * const duplicates = createRedisDuplicates({ connection })
 * const receiver = createReceiver({ signatureKey: 'parcels2026', duplicates })
 * ```
 */
export function createRedisDuplicates(options: RedisDuplicatesOptions): ClosableDuplicateStore {
  const { connection, prefix = 'geohook' } = checkOptions(options, NAMES)
  requireValue('connection', connection, isConnection) // checkOptions() accepts undefined
  return createDuplicates(createTable(connection, prefix), options)
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
if not owner or owner == ARGV[1] then redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2]) end`

const RECORD_DONE = `return redis.call('SET', KEYS[1], '${DONE}', 'PX', ARGV[1])`

const RELEASE = `if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end`

/** Creates a table of claims: one expiring key per delivery. The keys may be on different nodes of a cluster. */
function createTable(connection: RedisConnection, prefix: string): DuplicatesTable {
  const run = (script: string, id: string, ...values: (string | number)[]) =>
    answerWithin(CALL_TIMEOUT, 'Redis', connection.eval(script, 1, `${prefix}:duplicates:${id}`, ...values))

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

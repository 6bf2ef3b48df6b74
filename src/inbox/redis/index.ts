import { checkOptions, must, type OptionNames, requireValue } from '../../options.ts'
import {
  type ClosableDuplicateStore,
  createDuplicates,
  DUPLICATES_OPTIONS,
  type DuplicatesOptions,
} from '../duplicates.ts'
import { createRedisDuplicatesTable, type RedisConnection } from './duplicates.ts'

export type { RedisConnection } from './duplicates.ts'

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
  return createDuplicates(createRedisDuplicatesTable(connection, prefix), options)
}

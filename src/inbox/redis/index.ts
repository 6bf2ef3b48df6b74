import { configInvalid } from '../../errors.ts'
import { type OptionNames, requireKnownOptions } from '../../options.ts'
import {
  type ClosableDuplicateStore,
  createDuplicates,
  DUPLICATES_OPTIONS,
  type DuplicatesOptions,
} from '../duplicates.ts'
import type { DurableInbox } from '../durable-inbox.ts'
import { INBOX_OPTIONS, type InboxOptions, readInboxOptions } from '../inbox-options.ts'
import { type RedisOptions, readName, readRedisOptions } from './connection-options.ts'
import { createRedisDuplicatesTable } from './duplicates.ts'
import { createBullmqInbox } from './inbox.ts'

export type { RedisOptions } from './connection-options.ts'

/** Options of {@link createRedisInbox}. */
export interface RedisInboxOptions extends RedisOptions, InboxOptions {
  /** Name of the queue, 1 to 200 characters without colons and control characters. Default `inbox`. */
  queue?: string | undefined
}

/** Options of {@link createRedisDuplicates}. */
export interface RedisDuplicatesOptions extends RedisOptions, DuplicatesOptions {}

const INBOX_NAMES: OptionNames<RedisInboxOptions> = { ...INBOX_OPTIONS, url: true, prefix: true, queue: true }

/**
 * Creates an inbox in Redis for any number of processes. It uses BullMQ, needs the packages `bullmq` and `ioredis`,
 * and connects on first use.
 *
 * The server's settings determine how durable the inbox is: with `appendonly yes` and `appendfsync everysec`, a crash
 * of the machine can lose the deliveries of the last second; with `appendfsync always`, it loses none. A single process
 * never exceeds `maxPending`; several processes can exceed it by the deliveries that they add within 0.1 s. If a
 * process crashes, another process takes its deliveries after one to two leases.
 *
 * @throws {WebhookError} `config_invalid`
 * @example
 * ```ts
 * import { createReceiver } from 'geohook'
 * import { createRedisInbox } from 'geohook/redis'
 *
 * const inbox = createRedisInbox({ url: process.env.REDIS_URL ?? 'redis://127.0.0.1:6379' })
 * const receiver = createReceiver({ signatureKey: 'parcels2026', inbox }).on('*', (event) => console.log(event))
 * ```
 */
export function createRedisInbox(options: RedisInboxOptions): DurableInbox {
  requireKnownOptions(options, INBOX_NAMES)
  const { url, prefix } = readRedisOptions(options)
  const queue = readName('queue', options.queue ?? 'inbox')
  if (queue.includes(':')) throw configInvalid('queue must not contain a colon')
  return createBullmqInbox({ url, prefix, queue, config: readInboxOptions(options) })
}

const DUPLICATES_NAMES: OptionNames<RedisDuplicatesOptions> = {
  ...DUPLICATES_OPTIONS,
  url: true,
  prefix: true,
}

/**
 * Creates a duplicate store in Redis for any number of processes: it remembers which deliveries are in progress and
 * which are done. It needs the package `ioredis`, and connects on first use.
 *
 * @throws {WebhookError} `config_invalid`
 * @example
 * ```ts
 * import { createReceiver } from 'geohook'
 * import { createRedisDuplicates } from 'geohook/redis'
 *
 * const duplicates = createRedisDuplicates({ url: process.env.REDIS_URL ?? 'redis://127.0.0.1:6379' })
 * const receiver = createReceiver({ signatureKey: 'parcels2026', duplicates })
 * ```
 */
export function createRedisDuplicates(options: RedisDuplicatesOptions): ClosableDuplicateStore {
  requireKnownOptions(options, DUPLICATES_NAMES)
  const { url, prefix } = readRedisOptions(options)
  return createDuplicates(createRedisDuplicatesTable(url, prefix), options)
}

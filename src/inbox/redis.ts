import { configInvalid } from '../errors.ts'
import { type ClosableDuplicateStore, createDuplicates, type DuplicatesOptions } from './claims.ts'
import type { DurableInbox } from './inbox.ts'
import { type InboxOptions, readInboxOptions } from './options.ts'
import { createRedisClaims } from './redis/claims.ts'
import { createBullmqInbox } from './redis/inbox.ts'
import { type RedisOptions, readName, readRedisOptions } from './redis/options.ts'

export type { ClosableDuplicateStore, DuplicatesOptions } from './claims.ts'
export type {
  DurableInbox,
  InboxEntry,
  InboxItem,
  InboxPage,
  InboxState,
  InboxStats,
  ListOptions,
  PurgeOptions,
  Workers,
  WorkOptions,
} from './inbox.ts'
export type { AttemptEnded, InboxObserver } from './observer.ts'
export type { InboxOptions } from './options.ts'
export type { RedisOptions } from './redis/options.ts'

/** What {@link createRedisInbox} takes. */
export interface RedisInboxOptions extends RedisOptions, InboxOptions {
  /** The name of the queue, 1 to 200 characters, none of them a colon or a control character. Default `inbox`. */
  queue?: string | undefined
}

/** What {@link createRedisDuplicates} takes. */
export interface RedisDuplicatesOptions extends RedisOptions, DuplicatesOptions {}

/**
 * An inbox in Redis, through BullMQ, for any number of processes. It needs the packages `bullmq` and `ioredis`, and
 * connects when it is first used.
 *
 * It is as durable as the server: with `appendonly yes` and `appendfsync everysec` a crash of the machine can lose
 * the last second, with `appendfsync always` nothing. One process keeps to `maxPending`; several
 * can exceed it by what they add within 0.1 s. Another process takes over what one has left after one to two leases.
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
  const { url, prefix } = readRedisOptions(options)
  const queue = readName('queue', options.queue ?? 'inbox')
  if (queue.includes(':')) throw configInvalid('queue must not contain a colon')
  return createBullmqInbox({ url, prefix, queue, config: readInboxOptions(options) })
}

/**
 * Remembers in Redis which deliveries are at work and which are done, for any number of processes. It needs the
 * package `ioredis`, and connects when it is first used.
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
  const { url, prefix } = readRedisOptions(options)
  return createDuplicates(createRedisClaims(url, prefix), options)
}

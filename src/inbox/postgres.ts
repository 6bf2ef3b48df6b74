import { type ClosableDuplicateStore, createDuplicates, type DuplicatesOptions } from './claims.ts'
import type { DurableInbox } from './inbox.ts'
import { type InboxOptions, readInboxOptions, readNumber } from './options.ts'
import { createBossConnection } from './postgres/boss.ts'
import { createPostgresClaims } from './postgres/claim-table.ts'
import { createJobTable } from './postgres/jobs.ts'
import { type PostgresOptions, readPostgresOptions, readQueue } from './postgres/options.ts'
import { createQueueInbox } from './queue.ts'

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
export type { PostgresOptions } from './postgres/options.ts'

/** What {@link createPostgresInbox} takes. Its `lease` is 10,000 ms at least. */
export interface PostgresInboxOptions extends PostgresOptions, InboxOptions {
  /** The queue of pg-boss, one for each inbox in a schema: letters, digits, `_`, `-` and `.`, at most 100. Default `'inbox'`. */
  queue?: string | undefined
}

/** What {@link createPostgresDuplicates} takes. */
export interface PostgresDuplicatesOptions extends PostgresOptions, DuplicatesOptions {}

/**
 * An inbox in PostgreSQL, through pg-boss, which has to be installed: for several processes on several machines.
 *
 * Nothing is opened before it is first used. What is put survives what the server's `synchronous_commit` lets survive.
 * A delivery is tried as often as the inbox said that took it. How long it waits after an attempt that failed is said
 * by the inbox that tried it; after one whose process died, by the one that took it. `maxPending` is compared, in each
 * process, with a count of what waits that is up to a second old; what is active is not in it.
 *
 * The queue is made when it is missing, also while the inbox is in use. A job in it whose data is not a delivery
 * becomes a dead letter, which the observer hears of as `trouble`; `get` gives it without bytes.
 *
 * @throws {WebhookError} `config_invalid`; where the queue is there with a policy other than `standard`, each method
 *   rejects with it
 * @example
 * ```ts
 * import { createReceiver } from 'geohook'
 * import { createPostgresInbox } from 'geohook/postgres'
 *
 * const inbox = createPostgresInbox({ connectionString: process.env.DATABASE_URL ?? 'postgres://localhost/parcels' })
 * const receiver = createReceiver({ signatureKey: 'parcels2026', inbox }).on('*', (event) => console.log(event))
 * inbox.work(receiver)
 * ```
 */
export function createPostgresInbox(options: PostgresInboxOptions): DurableInbox {
  const place = { ...readPostgresOptions(options), queue: readQueue(options.queue) }
  const config = readInboxOptions(options)
  readNumber('lease', config.lease, 10_000) // of pg-boss
  const connection = createBossConnection(place, config)
  return createQueueInbox(createJobTable({ ...place, connection }, config), config, Date.now)
}

/**
 * Remembers in PostgreSQL, for all processes, which deliveries are at work and which are done. It needs the package pg.
 *
 * @throws {WebhookError} `config_invalid`
 * @example
 * ```ts
 * import { createReceiver } from 'geohook'
 * import { createPostgresDuplicates } from 'geohook/postgres'
 *
 * const duplicates = createPostgresDuplicates({ connectionString: 'postgres://localhost/parcels' })
 * const receiver = createReceiver({ signatureKey: 'parcels2026', duplicates })
 * ```
 */
export function createPostgresDuplicates(options: PostgresDuplicatesOptions): ClosableDuplicateStore {
  const { connectionString, schema } = readPostgresOptions(options)
  return createDuplicates(createPostgresClaims(connectionString, schema), options)
}

import { type ClosableDuplicateStore, createDuplicates, type DuplicatesOptions } from './claims.ts'
import type { DurableInbox } from './inbox.ts'
import { type InboxOptions, readClock, readInboxOptions } from './options.ts'
import { createQueueInbox } from './queue.ts'
import { createSqliteClaims } from './sqlite/claims.ts'
import { createSqliteTable } from './sqlite/deliveries.ts'
import { readPath } from './sqlite/file.node.ts'
import { createStore } from './sqlite/store.ts'

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

/** What {@link createSqliteInbox} takes. */
export interface SqliteInboxOptions extends InboxOptions {
  /** Of the file. It is made where it is not there, for its owner alone; its folder has to be there. */
  path: string
  /** The time in milliseconds since 1970, for tests. Default `Date.now`. */
  clock?: (() => number) | undefined
}

/**
 * An inbox in a SQLite file: what it has taken survives a crash and a power failure. Several processes of one machine
 * may share the file. It is opened when it is first used, with `node:sqlite` (Node 22.13 and newer) or else with
 * `better-sqlite3`, which has to be installed.
 *
 * @throws {WebhookError} `config_invalid`; where the file is something else, each method rejects with it
 * @example
 * ```ts
 * import { createReceiver } from 'geohook'
 * import { createSqliteInbox } from 'geohook/sqlite'
 *
 * const inbox = createSqliteInbox({ path: 'inbox.db' })
 * const receiver = createReceiver({ signatureKey: 'parcels2026', inbox }).on('*', (event) => console.log(event))
 * inbox.work(receiver)
 * ```
 */
export function createSqliteInbox(options: SqliteInboxOptions): DurableInbox {
  const store = createStore(readPath(options?.path))
  const clock = readClock(options.clock)
  return createQueueInbox(createSqliteTable(store, clock), readInboxOptions(options), clock)
}

/** What {@link createSqliteDuplicates} takes. */
export interface SqliteDuplicatesOptions extends DuplicatesOptions {
  /** Of the file. It may be that of an inbox. */
  path: string
}

/**
 * Remembers in a SQLite file which deliveries are at work and which are done, for all processes that share it.
 *
 * @throws {WebhookError} `config_invalid`
 * @example
 * ```ts
 * import { createReceiver } from 'geohook'
 * import { createSqliteDuplicates } from 'geohook/sqlite'
 *
 * const duplicates = createSqliteDuplicates({ path: 'inbox.db' })
 * const receiver = createReceiver({ signatureKey: 'parcels2026', duplicates })
 * ```
 */
export function createSqliteDuplicates(options: SqliteDuplicatesOptions): ClosableDuplicateStore {
  const store = createStore(readPath(options?.path))
  return createDuplicates(createSqliteClaims(store), options)
}

import { readSize } from '../receiver/options.ts'
import { type ClosableDuplicateStore, createDuplicates, type DuplicatesOptions } from './claims.ts'
import type { DurableInbox } from './inbox.ts'
import { type InboxOptions, readClock, readInboxOptions } from './options.ts'
import { createQueueInbox } from './queue.ts'
import { backUp } from './sqlite/backup.node.ts'
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
  /**
   * Maximum sum of the body sizes of deliveries that wait or are active; more are refused with 503. In bytes or as
   * `'512mb'` or `'4gb'` (of 1024). Default `'4gb'`.
   */
  maxPendingBytes?: number | string | undefined
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
  const maxPendingBytes = readSize('maxPendingBytes', options.maxPendingBytes ?? '4gb')
  const clock = readClock(options.clock)
  return createQueueInbox(createSqliteTable(store, clock, maxPendingBytes), readInboxOptions(options), clock)
}

/**
 * Copies an inbox file while processes use it: a consistent copy, complete and on the disk when this resolves. A copy
 * of the file alone lacks what is in its write-ahead log. The copy is an inbox file that only its owner may read.
 *
 * @param path of the inbox
 * @param to the path of the copy, which must not exist yet
 * @throws {WebhookError} `config_invalid` where there is no inbox at `path`, or something at `to`
 * @example
 * ```ts
 * import { backupSqliteInbox } from 'geohook/sqlite'
 *
 * await backupSqliteInbox('inbox.db', `inbox-${Date.now()}.db`)
 * ```
 */
export async function backupSqliteInbox(path: string, to: string): Promise<void> {
  return backUp(readPath(path), readPath(to))
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

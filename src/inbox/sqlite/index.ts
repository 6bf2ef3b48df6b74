import { checkOptions, isFunction, type OptionNames, readSize } from '../../options.ts'
import {
  type ClosableDuplicateStore,
  createDuplicates,
  DUPLICATES_OPTIONS,
  type DuplicatesOptions,
} from '../duplicates.ts'
import type { DurableInbox } from '../durable-inbox.ts'
import { INBOX_OPTIONS, type InboxOptions, readInboxOptions } from '../inbox-options.ts'
import { DEFAULT_MAX_ROWS, ROWS_OPTIONS, type RowStore, type RowsOptions } from '../rows.ts'
import { createTableInbox } from '../table-inbox.ts'
import { backUp } from './backup.node.ts'
import { createSqliteDuplicatesTable } from './duplicates.ts'
import { readPath } from './path.node.ts'
import { createSqliteRowsTable } from './rows.ts'
import { createSqliteTable } from './table.ts'
import { createTransactions } from './transactions.ts'

/** Options of {@link createSqliteInbox}. */
export interface SqliteInboxOptions extends InboxOptions {
  /** Path of the file, in an existing folder. A missing file is created, and only its owner can read it. */
  path: string
  /**
   * Maximum total body size of waiting and active deliveries: a number of bytes, or a string such as `'512mb'` or
   * `'4gb'` (units of 1024). Deliveries that would exceed it are rejected with 503. Default `'4gb'`.
   */
  maxPendingBytes?: number | string | undefined
  /** Returns the time in milliseconds since 1970, for tests. Default `Date.now`. */
  clock?: (() => number) | undefined
}

const INBOX_NAMES: OptionNames<SqliteInboxOptions> = {
  ...INBOX_OPTIONS,
  path: true,
  maxPendingBytes: true,
  clock: isFunction,
}

/**
 * Creates an inbox in a SQLite file. Accepted deliveries survive a crash and a power failure, and several processes on
 * one machine may share the file. The file is opened on first use, with `node:sqlite` (Node 22.13 and newer) or
 * otherwise with `better-sqlite3`, which you have to install.
 *
 * @throws {WebhookError} `config_invalid` for an invalid option. If the file is not an inbox, each method rejects with
 *   this code
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
  const { path, maxPendingBytes = '4gb', clock = Date.now } = checkOptions(options, INBOX_NAMES)
  const transactions = createTransactions(readPath(path))
  const config = readInboxOptions(options)
  const table = createSqliteTable(transactions, clock, readSize('maxPendingBytes', maxPendingBytes))
  return createTableInbox(table, config, clock)
}

/**
 * Backs up an inbox file while processes use it. Resolves when a consistent copy is on disk. A plain copy of the file
 * would lack the contents of the write-ahead log. Only the owner of the copy can read it.
 *
 * @param path path of the inbox
 * @param to path of the copy, which must not exist yet
 * @throws {WebhookError} `config_invalid` if `path` is not an inbox, or if `to` exists
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

/** Options of {@link createSqliteDuplicates}. */
export interface SqliteDuplicatesOptions extends DuplicatesOptions {
  /** Path of the file. It may be the file of an inbox. */
  path: string
}

/**
 * Creates a duplicate store in a SQLite file: it remembers for all processes that share the file which deliveries are
 * in progress and which are done.
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
  const { path } = checkOptions(options, { ...DUPLICATES_OPTIONS, path: true })
  return createDuplicates(createSqliteDuplicatesTable(createTransactions(readPath(path))), options)
}

/** Options of {@link createSqliteRows}. */
export interface SqliteRowsOptions extends RowsOptions {
  /** Path of the file. It may be the file of an inbox. */
  path: string
}

/**
 * Creates a store of the last known rows of features in a SQLite file, for all processes that share the file.
 *
 * @throws {WebhookError} `config_invalid`
 * @example
 * ```ts
 * import { createSnapshots } from 'geohook/changes'
 * import { createSqliteRows } from 'geohook/sqlite'
 *
 * const snapshots = createSnapshots({ store: createSqliteRows({ path: 'inbox.db' }) })
 * ```
 */
export function createSqliteRows(options: SqliteRowsOptions): RowStore {
  const { path, maxRows = DEFAULT_MAX_ROWS } = checkOptions(options, { ...ROWS_OPTIONS, path: true })
  return createSqliteRowsTable(createTransactions(readPath(path)), maxRows)
}

import { type OptionNames, requireKnownOptions } from '../../options.ts'
import {
  type ClosableDuplicateStore,
  createDuplicates,
  DUPLICATES_OPTIONS,
  type DuplicatesOptions,
} from '../duplicates.ts'
import type { DurableInbox } from '../durable-inbox.ts'
import { INBOX_OPTIONS, type InboxOptions, readInboxOptions, readNumber } from '../inbox-options.ts'
import type { RowStore } from '../rows.ts'
import { ROWS_OPTIONS, type RowsOptions, readMaxRows } from '../rows-options.ts'
import { createTableInbox } from '../table-inbox.ts'
import { createBossConnection } from './connection.ts'
import { type PostgresOptions, readPostgresOptions, readQueue } from './connection-options.ts'
import { createPostgresDuplicatesTable } from './duplicates.ts'
import { createPostgresRowsTable } from './rows.ts'
import { createPostgresTable } from './table.ts'

export type { PostgresOptions } from './connection-options.ts'

/** Options of {@link createPostgresInbox}. `lease` must be at least 10,000 ms. */
export interface PostgresInboxOptions extends PostgresOptions, InboxOptions {
  /**
   * Name of the pg-boss queue, different for each inbox in a schema: at most 100 letters, digits, `_`, `-` and `.`.
   * Default `'inbox'`.
   */
  queue?: string | undefined
}

/** Options of {@link createPostgresDuplicates}. */
export interface PostgresDuplicatesOptions extends PostgresOptions, DuplicatesOptions {}

const INBOX_NAMES: OptionNames<PostgresInboxOptions> = {
  ...INBOX_OPTIONS,
  connectionString: true,
  schema: true,
  queue: true,
}

/**
 * Creates an inbox in PostgreSQL for any number of processes and machines. It uses pg-boss, which you have to install.
 *
 * It connects on first use. The server's `synchronous_commit` setting determines how durable a stored delivery is. If
 * inboxes with different options share a queue, the inbox that stored a delivery determines the delivery's number of
 * attempts and its retry delay after a crash; the inbox that ran a failed attempt determines the delay after that
 * attempt. Each process compares `maxPending` with a count of waiting deliveries that is up to a second old and does
 * not include active deliveries.
 *
 * The inbox creates the queue if it is missing, even if the queue was deleted while the inbox was in use. A job in the
 * queue that is not a delivery becomes a dead letter and is reported as `trouble`; `get` returns it with an empty body.
 *
 * @throws {WebhookError} `config_invalid`. If the queue already exists with a policy other than `standard`, each method
 *   rejects with this error
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
  requireKnownOptions(options, INBOX_NAMES)
  const location = { ...readPostgresOptions(options), queue: readQueue(options.queue) }
  const config = readInboxOptions(options)
  readNumber('lease', config.lease, 10_000) // the shortest heartbeat of pg-boss
  const connection = createBossConnection(location, config)
  return createTableInbox(createPostgresTable({ ...location, connection }, config), config, Date.now)
}

const DUPLICATES_NAMES: OptionNames<PostgresDuplicatesOptions> = {
  ...DUPLICATES_OPTIONS,
  connectionString: true,
  schema: true,
}

/**
 * Creates a duplicate store in PostgreSQL: it remembers for all processes which deliveries are in progress and which
 * are done. It needs the package `pg`, and connects on first use.
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
  requireKnownOptions(options, DUPLICATES_NAMES)
  const { connectionString, schema } = readPostgresOptions(options)
  return createDuplicates(createPostgresDuplicatesTable(connectionString, schema), options)
}

/** Options of {@link createPostgresRows}. */
export interface PostgresRowsOptions extends PostgresOptions, RowsOptions {}

const ROWS_NAMES: OptionNames<PostgresRowsOptions> = { ...ROWS_OPTIONS, connectionString: true, schema: true }

/**
 * Creates a store of the last known rows of features in PostgreSQL, for all processes. Each process can exceed
 * `maxRows` by 1 %. It needs the package `pg`, and connects on first use.
 *
 * @throws {WebhookError} `config_invalid`
 * @example
 * ```ts
 * import { createSnapshots } from 'geohook/changes'
 * import { createPostgresRows } from 'geohook/postgres'
 *
 * const snapshots = createSnapshots({
 *   store: createPostgresRows({ connectionString: 'postgres://localhost/parcels' }),
 * })
 * ```
 */
export function createPostgresRows(options: PostgresRowsOptions): RowStore {
  requireKnownOptions(options, ROWS_NAMES)
  const { connectionString, schema } = readPostgresOptions(options)
  return createPostgresRowsTable(connectionString, schema, readMaxRows(options))
}

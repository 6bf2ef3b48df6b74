import { configInvalid } from '../../errors.ts'
import { checkOptions, describeMissing, isBoolean, isFilledText, type OptionNames } from '../../options.ts'
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
import { createPostgresDuplicatesTable } from './duplicates.ts'
import {
  isQueue,
  isSchema,
  POSTGRES_OPTIONS,
  type PostgresOptions,
  quoteSchema,
  readLocation,
} from './options.ts'
import { createPostgresRowsTable } from './rows.ts'
import { createDuplicatesSql, createInboxSql, createRowsSql } from './schema.ts'
import { createPostgresTable } from './table.ts'

export type { PostgresOptions, PostgresPool } from './options.ts'

/** Options of {@link createPostgresInbox}. */
export interface PostgresInboxOptions extends PostgresOptions, InboxOptions {
  /**
   * Name of the queue, different for each inbox in a schema: at most 100 letters, digits, `_`, `-` and `.`. Default
   * `'inbox'`.
   */
  queue?: string | undefined
  /**
   * Whether workers use one more connection, on which PostgreSQL tells them at once about new deliveries. Without it, and
   * where it does not work, such as behind PgBouncer, they ask once a second. Default true.
   */
  listen?: boolean | undefined
}

/** Options of {@link createPostgresDuplicates}. */
export interface PostgresDuplicatesOptions extends PostgresOptions, DuplicatesOptions {}

const INBOX_NAMES: OptionNames<PostgresInboxOptions> = {
  ...INBOX_OPTIONS,
  ...POSTGRES_OPTIONS,
  queue: isQueue,
  listen: isBoolean,
}

/**
 * Creates an inbox in PostgreSQL for any number of processes and machines. It needs the package `pg`, connects on first
 * use, and creates its tables if they are missing. All times are those of the server's clock.
 *
 * Each process counts the pending deliveries in the background, at least once a second and up to ten times a second
 * when few places are left. Several processes together can exceed `maxPending` by what they store in between.
 *
 * @throws {WebhookError} `config_invalid`. If a newer version of geohook has changed the tables, each method rejects
 *   with this code
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
  const { queue = 'inbox', listen = true, ...rest } = checkOptions(options, INBOX_NAMES)
  const config = readInboxOptions(rest)
  return createTableInbox(createPostgresTable(readLocation(rest), queue, listen), config, Date.now)
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
  const location = readLocation(checkOptions(options, { ...DUPLICATES_OPTIONS, ...POSTGRES_OPTIONS }))
  return createDuplicates(createPostgresDuplicatesTable(location), options)
}

/** Options of {@link createPostgresRows}. */
export interface PostgresRowsOptions extends PostgresOptions, RowsOptions {}

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
  const { maxRows = DEFAULT_MAX_ROWS, ...rest } = checkOptions(options, {
    ...ROWS_OPTIONS,
    ...POSTGRES_OPTIONS,
  })
  return createPostgresRowsTable(readLocation(rest), maxRows)
}

/** Options of {@link createSchemaSql}. */
export interface SchemaSqlOptions extends Pick<PostgresOptions, 'schema'> {
  /** Role of the processes that use the tables. */
  role: string
}

/**
 * Returns the SQL with which an administrator creates the schema and the tables of all inboxes and stores, and grants a
 * role that may create none the rights on them. It can be run again. `geohook inbox init --print-sql` prints it.
 *
 * @throws {WebhookError} `config_invalid`
 * @example
 * ```ts
 * import { createSchemaSql } from 'geohook/postgres'
 *
 * console.log(createSchemaSql({ role: 'parcels' }))
 * ```
 */
export function createSchemaSql(options: SchemaSqlOptions): string {
  const { role, schema: name } = checkOptions(options, { role: isFilledText, schema: isSchema })
  if (role === undefined) throw configInvalid(describeMissing('role', role))
  const schema = quoteSchema(name)
  const grantee = `"${role.replaceAll('"', '""')}"`
  return `create schema if not exists ${schema};
${createInboxSql(schema).trim()}
${createDuplicatesSql(`${schema}.duplicates`)};
${createRowsSql(`${schema}.known_rows`)};
grant usage on schema ${schema} to ${grantee};
grant select, insert, update, delete on all tables in schema ${schema} to ${grantee};
grant usage on all sequences in schema ${schema} to ${grantee};`
}

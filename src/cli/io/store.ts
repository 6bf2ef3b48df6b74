import { open } from 'node:fs/promises'
import type { DurableInbox } from '../../inbox/index.ts'
import { WebhookError } from '../../index.ts'
import { whyUnreachable } from '../../shared/connection-errors.ts'
import { errorChain } from '../../shared/error-chain.ts'
import { isSecretParameter } from '../../shared/redact.ts'
import { decodePercent } from '../../shared/url-secrets.ts'
import { CliError, EXIT, failure, toCliError, usageError } from '../errors.ts'
import type { CliCommand } from '../options/command.ts'
import {
  addSecretOptions,
  readSecret,
  type SecretKind,
  type SecretOptions,
  toText,
} from '../options/secrets.ts'
import type { Io, Progress } from '../terminal/io.ts'
import { reasonOf } from './files.ts'

/**
 * Opens an inbox, runs a task on it, and closes it. Starts no workers.
 *
 * @throws {CliError} exit code 2 if the inbox does not exist, 3 if its server is unreachable
 */
export const withInbox = <T>(
  io: Io,
  options: StoreOptions,
  task: (inbox: DurableInbox, progress: Progress) => Promise<T>,
): Promise<T> =>
  withStore(io, options, async (address, progress) => {
    let inbox: DurableInbox | undefined
    try {
      inbox = await openInbox(address, options)
      if (address.engine === 'postgres') await requireInboxOnServer(io, address, options)
      return await task(inbox, progress)
    } finally {
      // Ignores errors of close(), so that they do not replace the error of the task.
      await inbox?.close().catch(() => {})
    }
  })

/** Creates the tables of an inbox in PostgreSQL. An inbox in SQLite creates its file itself. */
export const createTables = (io: Io, options: StoreOptions): Promise<void> =>
  withStore(
    io,
    options,
    async (address) => {
      if (address.engine === 'sqlite')
        throw usageError('a SQLite inbox needs no init', 'It creates its file itself.')
      const inbox = await openInbox(address, options)
      await inbox.stats().finally(() => inbox.close())
    },
    { mayBeMissing: true },
  )

/**
 * Runs a task with the address of a store. Removes the secrets of the address from the task's errors.
 *
 * @throws {CliError} exit code 2 if the inbox does not exist, 3 if its server is unreachable
 */
export async function withStore<T>(
  io: Io,
  options: StoreOptions,
  task: (address: StoreAddress, progress: Progress) => Promise<T>,
  { mayBeMissing = false }: { mayBeMissing?: boolean } = {},
): Promise<T> {
  const { address, from } = await readStoreAddress(io, options)
  if (address.engine === 'sqlite' && !mayBeMissing) await requireSqliteFile(address.text, from)
  return io.withProgress(`asking ${address.displayName}`, async (progress) => {
    try {
      return await task(address, progress)
    } catch (error) {
      throw toStoreError(error, address)
    }
  })
}

/** Ignores all notifications. Without an observer, the inbox would emit warnings about errors that commands print. */
const observer = { failed() {}, dead() {}, trouble() {} }

async function openInbox({ engine, text }: StoreAddress, options: StoreOptions): Promise<DurableInbox> {
  const { schema, queue } = options
  if (engine === 'sqlite') {
    const { createSqliteInbox } = await import('../../inbox/sqlite/index.ts')
    return createSqliteInbox({ path: text, observer })
  }
  const { createPostgresInbox } = await import('../../inbox/postgres/index.ts')
  return createPostgresInbox({ connectionString: text, schema, queue, observer })
}

export interface StoreOptions extends SecretOptions<'store'> {
  schema?: string
  queue?: string
}

const STORE = {
  option: 'store',
  noun: 'address of the inbox',
  detail: 'path of a SQLite file, or a postgres:// URL',
  variable: 'GEOHOOK_INBOX',
} as const satisfies SecretKind

/** Adds the options of commands that also work without an inbox, and have `--json` already. */
export function addStoreAddressOptions(command: CliCommand): void {
  command
    .with(addSecretOptions(STORE))
    .option('--schema <name>', 'PostgreSQL: schema of the inbox (default: geohook)')
    .option('--queue <name>', 'PostgreSQL: queue of the inbox (default: inbox)')
}

export function addStoreOptions(command: CliCommand): void {
  command.with(addStoreAddressOptions).option('--json', 'print JSON')
}

export const hasStore = ({ host }: Io, { store, storeEnv, storeFile }: StoreOptions): boolean =>
  (store ?? storeEnv ?? storeFile ?? host.env[STORE.variable]) !== undefined

type Engine = 'sqlite' | 'postgres'

/** The address of the database that stores an inbox. A URL can contain a password. */
interface StoreAddress {
  engine: Engine
  /** File path or URL, including its secrets. */
  text: string
  /** Name for messages, with the host and port but without the user, password and path. */
  displayName: string
}

/** The npm package that each engine requires. */
const PACKAGES: Readonly<Record<Engine, string>> = { sqlite: 'better-sqlite3', postgres: 'pg' }

/**
 * Reads the address of the store. Error messages do not quote the address, because it can contain a password.
 *
 * @returns the address, and where it was given, for error messages
 */
async function readStoreAddress(
  io: Io,
  options: StoreOptions,
): Promise<{ address: StoreAddress; from: string }> {
  const secret = await readSecret(io, STORE, options)
  if (!secret) {
    throw usageError(
      'the inbox is missing',
      `Set ${STORE.variable}, or give --store: the path of a SQLite file, or a URL.`,
      'store_missing',
    )
  }
  const address = parseStoreAddress(io, toText(secret, 'store'), secret.from)
  for (const name of ['schema', 'queue'] as const) {
    if (options[name] === undefined) continue
    if (address.engine === 'sqlite') throw usageError(`--${name} does not apply to this kind of store`)
    if (options[name] === '') throw usageError(`--${name} is empty`)
  }
  return { address, from: secret.from }
}

function parseStoreAddress(io: Io, text: string, from: string): StoreAddress {
  // A single letter before the colon is a Windows drive, not a scheme.
  const scheme = /^([a-z][a-z\d+.-]+):/i.exec(text)?.[1]?.toLowerCase()
  if (scheme === undefined || scheme === 'sqlite')
    return { engine: 'sqlite', text: text.replace(/^sqlite:/i, ''), displayName: 'the SQLite file' }
  if (scheme === 'redis' || scheme === 'rediss') {
    throw usageError(
      `the store in ${from} is a Redis URL, but geohook has no inbox in Redis`,
      'Put deliveries into a queue of your own with packDelivery(): see docs/queues.md.',
      'store_unsupported',
    )
  }
  if (scheme !== 'postgres' && scheme !== 'postgresql') {
    throw usageError(
      `the store in ${from} has an unknown scheme`,
      'Give the path of a SQLite file, or a URL that begins with postgres://.',
    )
  }
  const url = URL.canParse(text) ? new URL(text) : undefined
  // If the password contains an unescaped /, `URL` treats the rest of the password, and the host, as the path.
  if (!url || /@/.test(url.pathname + url.search + url.hash)) {
    throw usageError(
      `the store in ${from} is not a URL`,
      'Percent-encode special characters of its password, for example / as %2F.',
    )
  }
  for (const secret of [text, ...secretsOf(url)]) io.keepSecret(secret)
  return { engine: 'postgres', text, displayName: url.host ? `PostgreSQL at ${url.host}` : 'PostgreSQL' }
}

function secretsOf({ password, searchParams }: URL): string[] {
  const inQuery = [...searchParams].filter(([name]) => isSecretParameter(name))
  return [password, decodePercent(password), ...inQuery.map(([, value]) => value)]
}

/** The bytes at the start of every SQLite file (sqlite.org/fileformat.html, section 1.3). */
const MAGIC = 'SQLite format 3\0'

/** Checks that a SQLite file exists, because opening a missing one would create it. */
async function requireSqliteFile(path: string, from: string): Promise<void> {
  const hint = 'The process that receives deliveries creates the inbox.'
  const invalid = (why: string): CliError => usageError(`no inbox at the path in ${from}: ${why}`, hint)
  const start = Buffer.alloc(MAGIC.length)
  try {
    const file = await open(path, 'r')
    await file.read(start, 0, start.length, 0).finally(() => file.close())
  } catch (error) {
    throw invalid(reasonOf(error))
  }
  if (start.toString('latin1') !== MAGIC) throw invalid('it is not a SQLite file')
}

const TIMEOUT = 5_000

/**
 * Checks that an inbox exists on a server, because opening it would create it.
 *
 * @throws {CliError} exit code 2 if the inbox does not exist
 * @throws the error of the database client if connecting or querying fails
 */
async function requireInboxOnServer(
  io: Io,
  { text, displayName }: StoreAddress,
  options: StoreOptions,
): Promise<void> {
  if (await existsInPostgres(text, options, io.wait(TIMEOUT))) return
  throw usageError(
    `no inbox with that name in ${displayName}`,
    'Check the database, --schema and --queue. The process that receives deliveries creates the inbox.',
  )
}

async function existsInPostgres(
  connectionString: string,
  { schema = 'geohook', queue = 'inbox' }: StoreOptions,
  timeout: number,
): Promise<boolean> {
  const { default: pg } = await import('pg')
  const client = new pg.Client({
    connectionString,
    connectionTimeoutMillis: timeout,
    query_timeout: timeout,
  })
  client.on('error', () => {}) // connect() and query() also reject with the error
  try {
    await client.connect()
    // createPostgresInbox() has validated the schema name, so it cannot inject SQL.
    const table = `"${schema.toLowerCase()}".inbox_queue`
    const { rows } = await client.query('select to_regclass($1) as found', [table])
    if (rows[0]?.found === null) return false
    return (await client.query(`select 1 from ${table} where name = $1`, [queue])).rows.length > 0
  } finally {
    void client.end().catch(() => {})
  }
}

function toStoreError(thrown: unknown, { engine, displayName }: StoreAddress): CliError {
  if (thrown instanceof CliError) return thrown
  const errors = [...errorChain(thrown)]
  if (errors.some(isMissingPackage)) {
    const name = PACKAGES[engine]
    return usageError(
      `the packages of ${engine} are not installed: ${name}`,
      `npm install ${name}`,
      'package_missing',
    )
  }
  if (thrown instanceof WebhookError) return toCliError(thrown)
  const why = engine === 'sqlite' ? undefined : whyUnreachable(thrown)
  if (why) {
    const hint = 'Is it running, and is the address right?'
    return new CliError(EXIT.unreachable, 'unreachable', `cannot reach ${displayName}: ${why}`, hint)
  }
  const message = errors.map((error) => error.message).find(Boolean) ?? 'it failed'
  return failure('store_failed', `${displayName} reported: ${message}`)
}

const isMissingPackage = ({ code }: NodeJS.ErrnoException): boolean =>
  code === 'ERR_MODULE_NOT_FOUND' || code === 'MODULE_NOT_FOUND'

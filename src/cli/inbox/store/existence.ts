import { type CliError, usageError } from '../../errors.ts'
import type { Io } from '../../terminal/io.ts'
import type { StoreAddress } from './address.ts'

/** Options that select an inbox on a server. */
interface InboxNames {
  schema?: string
  queue?: string
  prefix?: string
}

/** Timeout in milliseconds for connecting, and for each response. */
const TIMEOUT = 5_000

/**
 * Checks that an inbox exists on a server, because opening it would create it.
 *
 * @throws {CliError} exit code 2 if the inbox does not exist
 * @throws the error of the database client if connecting or querying fails
 */
export async function requireInboxOnServer(
  io: Io,
  { engine, text, displayName }: StoreAddress,
  names: InboxNames,
): Promise<void> {
  const exists = await (engine === 'postgres' ? existsInPostgres : existsInRedis)(
    text,
    names,
    io.wait(TIMEOUT),
  )
  if (!exists) throw notFound(displayName)
}

const notFound = (displayName: string): CliError =>
  usageError(
    `no inbox with that name in ${displayName}`,
    'Check the database, --schema, --queue and --prefix. The process that receives deliveries creates the inbox.',
  )

async function existsInPostgres(
  connectionString: string,
  { schema = 'geohook', queue = 'inbox' }: InboxNames,
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
    const table = `"${schema.toLowerCase()}".queue`
    const { rows } = await client.query('select to_regclass($1) as found', [table])
    if (rows[0]?.found === null) return false
    return (await client.query(`select 1 from ${table} where name = $1`, [queue])).rows.length > 0
  } finally {
    void client.end().catch(() => {})
  }
}

async function existsInRedis(
  url: string,
  { prefix = 'geohook', queue = 'inbox' }: InboxNames,
  timeout: number,
): Promise<boolean> {
  const { Redis } = await import('ioredis')
  const client = new Redis(url, {
    lazyConnect: true,
    connectTimeout: timeout,
    commandTimeout: timeout,
    maxRetriesPerRequest: 0,
    retryStrategy: () => null,
  })
  let connectionError: Error | undefined
  client.on('error', (error) => {
    connectionError = error
  })
  try {
    await client.connect()
    return (await client.exists(`${prefix}:${queue}:meta`)) > 0
  } catch (error) {
    // The caught error only says that the connection is closed; the error from the `error` event gives the reason.
    throw connectionError ?? error
  } finally {
    client.disconnect()
  }
}

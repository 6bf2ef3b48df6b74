import { type CliError, usageError } from '../../errors.ts'
import type { StoreAddress } from './address.ts'

/** What says which inbox of a server it is. */
interface Names {
  schema?: string
  queue?: string
  prefix?: string
}

/** Milliseconds until a server counts as away. */
const PATIENCE = 5_000

/**
 * The engines make what they need where it is missing: whoever only looks must not.
 *
 * @throws {CliError} exit code 2; any other error is of the server
 */
export async function requirePresence({ engine, text, place }: StoreAddress, names: Names): Promise<void> {
  const isThere = engine === 'postgres' ? await isInPostgres(text, names) : await isInRedis(text, names)
  if (!isThere) throw noInbox(place)
}

const noInbox = (place: string): CliError =>
  usageError(
    `there is no inbox in ${place} by that name`,
    'Look at the database, --schema, --queue and --prefix. The process that receives makes it.',
  )

async function isInPostgres(
  connectionString: string,
  { schema = 'geohook', queue = 'inbox' }: Names,
): Promise<boolean> {
  const { default: pg } = await import('pg')
  const client = new pg.Client({
    connectionString,
    connectionTimeoutMillis: PATIENCE,
    query_timeout: PATIENCE,
  })
  client.on('error', () => {}) // whoever asks is told
  try {
    await client.connect()
    // The engine has checked the name already: it is no other SQL.
    const table = `"${schema.toLowerCase()}".queue`
    const { rows } = await client.query('select to_regclass($1) as found', [table])
    if (rows[0]?.found === null) return false
    return (await client.query(`select 1 from ${table} where name = $1`, [queue])).rows.length > 0
  } finally {
    void client.end().catch(() => {})
  }
}

async function isInRedis(url: string, { prefix = 'geohook', queue = 'inbox' }: Names): Promise<boolean> {
  const { Redis } = await import('ioredis')
  const client = new Redis(url, {
    lazyConnect: true,
    connectTimeout: PATIENCE,
    commandTimeout: PATIENCE,
    maxRetriesPerRequest: 0,
    retryStrategy: () => null,
  })
  let failure: Error | undefined
  client.on('error', (error) => {
    failure = error
  })
  try {
    await client.connect()
    return (await client.exists(`${prefix}:${queue}:meta`)) > 0
  } catch (error) {
    // It says that the connection is closed, and beside that why.
    throw failure ?? error
  } finally {
    client.disconnect()
  }
}

import { configInvalid } from '../../errors.ts'

/** Which database, and where in it. */
export interface PostgresOptions {
  /** The database: `postgres://user:password@host:port/database`. */
  connectionString: string
  /**
   * The schema that everything is in, made when it is missing: letters, digits and `_`, at most 50; not `pg_…`, which
   * PostgreSQL keeps to itself. Upper case is as lower case. Default `'geohook'`.
   */
  schema?: string | undefined
}

/**
 * @returns the schema as it is written into statements, in quotes: a word of SQL may be the name of a schema
 * @throws {WebhookError} `config_invalid`, which does not quote the connection string: it may hold a password
 */
export function readPostgresOptions(options: PostgresOptions): { connectionString: string; schema: string } {
  const { connectionString, schema = 'geohook' } = options ?? {}
  if (typeof connectionString !== 'string' || !isPostgresUrl(connectionString))
    throw configInvalid('connectionString must be a postgres:// URL')
  // It becomes a part of statements.
  if (typeof schema !== 'string' || !/^[a-z_][a-z0-9_]{0,49}$/i.test(schema))
    throw configInvalid('schema must be letters, digits and _, at most 50, with no digit in front')
  const name = schema.toLowerCase()
  if (name.startsWith('pg_') || name === 'information_schema')
    throw configInvalid(`schema must not be ${name}: PostgreSQL keeps such names to itself`)
  return { connectionString, schema: `"${name}"` }
}

/** @throws {WebhookError} `config_invalid` */
export function readQueue(queue = 'inbox'): string {
  if (typeof queue === 'string' && /^[\w.-]{1,100}$/.test(queue)) return queue
  throw configInvalid('queue must be letters, digits, _, - and ., at most 100')
}

function isPostgresUrl(text: string): boolean {
  return /^postgres(ql)?:\/\//.test(text) && URL.canParse(text)
}

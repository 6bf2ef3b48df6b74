import { configInvalid } from '../../errors.ts'
import { describeMissing } from '../../options.ts'

/** URL of the database and name of the schema. */
export interface PostgresOptions {
  /** URL of the database: `postgres://user:password@host:port/database`. */
  connectionString: string
  /**
   * Schema of all tables, created if it is missing. At most 50 letters, digits and `_`; names that begin with `pg_`
   * are reserved by PostgreSQL. Case-insensitive. Default `'geohook'`.
   */
  schema?: string | undefined
}

/**
 * @returns the options, with the schema in quotes, because its name may be an SQL keyword
 * @throws {WebhookError} `config_invalid`; its message omits the connection string, which may contain a password
 */
export function readPostgresOptions(options: PostgresOptions): { connectionString: string; schema: string } {
  const { connectionString, schema = 'geohook' } = options ?? {}
  if (!connectionString) throw configInvalid(describeMissing('connectionString', connectionString))
  if (typeof connectionString !== 'string' || !isPostgresUrl(connectionString))
    throw configInvalid('connectionString must be a postgres:// URL')
  // Check the name strictly, because it becomes part of SQL statements.
  if (typeof schema !== 'string' || !/^[a-z_][a-z0-9_]{0,49}$/i.test(schema))
    throw configInvalid('schema must be letters, digits and _, at most 50, with no digit in front')
  const name = schema.toLowerCase()
  if (name.startsWith('pg_') || name === 'information_schema')
    throw configInvalid(`schema must not be ${name}: PostgreSQL reserves such names`)
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

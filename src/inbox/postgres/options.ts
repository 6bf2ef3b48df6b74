import { configInvalid } from '../../errors.ts'
import { describeMissing } from '../../options.ts'

/** The part of a `Pool` of the package `pg` that geohook uses. */
export interface PostgresPool {
  /** Runs a statement: an object with its text, its values and the type parsers of its columns. */
  query(statement: object): Promise<{ rows: unknown[] }>
  /** Resolves with a client, which geohook uses to listen. */
  connect(): Promise<unknown>
  /** Adds a listener. Errors of idle connections would otherwise end the process. */
  on(event: 'error', listener: (error: Error) => void): unknown
}

/** The database and the schema. Give either `connectionString` or `pool`. */
export interface PostgresOptions {
  /** URL of the database: `postgres://user:password@host:port/database`. */
  connectionString?: string | undefined
  /**
   * A pool of the package `pg`, for settings that a URL cannot express: tokens as passwords, TLS, proxies. geohook does
   * not end it. Its connections must not be changed by `set`, except that a `search_path` does not matter.
   */
  pool?: PostgresPool | undefined
  /**
   * Schema of all tables, created if it is missing. At most 50 letters, digits and `_`; names that begin with `pg_`
   * are reserved by PostgreSQL. Case-insensitive. Default `'geohook'`.
   */
  schema?: string | undefined
}

/** The validated options: where to connect, and the schema in quotes. */
export interface PostgresLocation {
  connectionString: string | undefined
  pool: PostgresPool | undefined
  schema: string
}

/** @throws {WebhookError} `config_invalid`; its message omits the connection string, which may contain a password */
export function readPostgresOptions(options: PostgresOptions): PostgresLocation {
  const { connectionString, pool, schema } = options ?? {}
  if (pool !== undefined && connectionString !== undefined)
    throw configInvalid('give either connectionString or pool, not both')
  if (pool !== undefined) requirePool(pool)
  else if (!connectionString) throw configInvalid(describeMissing('connectionString', connectionString))
  else if (typeof connectionString !== 'string' || !isPostgresUrl(connectionString))
    throw configInvalid('connectionString must be a postgres:// URL')
  return { connectionString, pool, schema: readSchema(schema) }
}

/**
 * @returns the name in quotes, because it may be an SQL keyword
 * @throws {WebhookError} `config_invalid`
 */
export function readSchema(schema = 'geohook'): string {
  // Check the name strictly, because it becomes part of SQL statements.
  if (typeof schema !== 'string' || !/^[a-z_][a-z0-9_]{0,49}$/i.test(schema))
    throw configInvalid('schema must be letters, digits and _, at most 50, with no digit in front')
  const name = schema.toLowerCase()
  if (name.startsWith('pg_') || name === 'information_schema')
    throw configInvalid(`schema must not be ${name}: PostgreSQL reserves such names`)
  return `"${name}"`
}

function requirePool(pool: PostgresPool & { options?: { binary?: unknown } }): void {
  if (['query', 'connect', 'on'].some((name) => typeof Object(pool)[name] !== 'function'))
    throw configInvalid('pool must be a Pool of the package pg')
  if (pool.options?.binary) throw configInvalid('pool must not have the option binary')
}

/** @throws {WebhookError} `config_invalid` */
export function readQueue(queue = 'inbox'): string {
  if (typeof queue === 'string' && /^[\w.-]{1,100}$/.test(queue)) return queue
  throw configInvalid('queue must be letters, digits, _, - and ., at most 100')
}

function isPostgresUrl(text: string): boolean {
  return /^postgres(ql)?:\/\//.test(text) && URL.canParse(text)
}

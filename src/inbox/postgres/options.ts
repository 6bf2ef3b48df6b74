import { configInvalid } from '../../errors.ts'
import { describeMissing, must, type OptionNames, type Rule, requireValue } from '../../options.ts'

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

const isPool: Rule = (pool) => {
  if (['query', 'connect', 'on'].some((name) => typeof Object(pool)[name] !== 'function'))
    return 'must be a Pool of the package pg'
  return Object(pool).options?.binary ? 'must not have the option binary' : undefined
}

/** Strict, because the name becomes part of SQL statements. */
export const isSchema: Rule = (schema) => {
  if (typeof schema !== 'string' || !/^[a-z_][a-z0-9_]{0,49}$/i.test(schema))
    return 'must be letters, digits and _, at most 50, with no digit in front'
  const isReserved = /^(pg_|information_schema$)/i.test(schema)
  return isReserved ? `must not be ${schema.toLowerCase()}: PostgreSQL reserves such names` : undefined
}

const isPostgresUrl: Rule = /* @__PURE__ */ must(
  'be a postgres:// URL',
  (url) => typeof url === 'string' && /^postgres(ql)?:\/\//.test(url) && URL.canParse(url),
)

export const isQueue: Rule = /* @__PURE__ */ must(
  'be letters, digits, _, - and ., at most 100',
  (queue) => typeof queue === 'string' && /^[\w.-]{1,100}$/.test(queue),
)

/** The rules of the options of every store in PostgreSQL. {@link readLocation} checks `connectionString`. */
export const POSTGRES_OPTIONS: OptionNames<PostgresOptions> = {
  connectionString: true,
  pool: isPool,
  schema: isSchema,
}

/** @throws {WebhookError} `config_invalid`; its message omits the connection string, which may contain a password */
export function readLocation({ connectionString, pool, schema }: PostgresOptions): PostgresLocation {
  if (pool !== undefined && connectionString !== undefined)
    throw configInvalid('give either connectionString or pool, not both')
  if (pool === undefined && !connectionString)
    throw configInvalid(describeMissing('connectionString', connectionString))
  if (pool === undefined) requireValue('connectionString', connectionString, isPostgresUrl)
  return { connectionString, pool, schema: quoteSchema(schema) }
}

/** In quotes, because the name may be an SQL keyword. */
export const quoteSchema = (schema = 'geohook'): string => `"${schema.toLowerCase()}"`

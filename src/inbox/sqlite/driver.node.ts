import type BetterSqlite from 'better-sqlite3'
import { driverError, preload } from '../driver.ts'

/** A value of a column. */
export type Value = string | number | Uint8Array | null

/** An open database. Each statement is prepared once. */
export interface Database {
  /** @returns the number of changed rows */
  run(sql: string, ...values: Value[]): number
  get<Row>(sql: string, ...values: Value[]): Row | undefined
  /** Like `get`, for a statement that always returns a row. */
  getOne<Row>(sql: string, ...values: Value[]): Row
  all<Row>(sql: string, ...values: Value[]): Row[]
  /** The number of rows that `run` has changed. */
  changes(): number
  /** Runs several statements. */
  exec(sql: string): void
  close(): void
}

/**
 * Opens a file, and creates it if it is missing. Neither this call nor later statements wait for a lock, because
 * waiting would block the event loop.
 */
export type OpenDatabase = (path: string) => Database

/** The API that `node:sqlite` and `better-sqlite3` have in common. */
interface Driver {
  prepare(sql: string): {
    run(...values: Value[]): { changes: number | bigint }
    get(...values: Value[]): unknown
    all(...values: Value[]): unknown[]
  }
  exec(sql: string): unknown
  close(): unknown
}

/** Loads the driver in the background, and again for each call after a failure. */
export function preloadDriver(): () => Promise<OpenDatabase> {
  let loading: Promise<OpenDatabase> | undefined
  return preload(() => {
    loading ??= loadDriver().catch((error) => {
      loading = undefined
      throw error
    })
    return loading
  })
}

/**
 * Loads `node:sqlite`, or `better-sqlite3` if this version of Node lacks `node:sqlite`.
 *
 * @throws {MissingDriver}
 */
async function loadDriver(): Promise<OpenDatabase> {
  const builtIn = process.getBuiltinModule('node:sqlite') as
    | { DatabaseSync: new (path: string) => Driver }
    | undefined
  if (builtIn) return (path) => toDatabase(new builtIn.DatabaseSync(path))
  let Better: typeof BetterSqlite
  try {
    Better = (await import('better-sqlite3')).default
    new Better(':memory:').close() // a build for another version of Node throws here, not on import
  } catch (cause) {
    throw driverError(
      'there is neither node:sqlite nor better-sqlite3: use Node 22.13 or newer, or run npm install better-sqlite3',
      cause,
    )
  }
  return (path) => toDatabase(new Better(path, { timeout: 0 }) as Driver)
}

function toDatabase(driver: Driver): Database {
  const statements = new Map<string, ReturnType<Driver['prepare']>>()
  let changes = 0
  const prepare = (sql: string) => {
    const statement = statements.get(sql) ?? driver.prepare(sql)
    statements.set(sql, statement)
    return statement
  }

  return {
    run(sql, ...values) {
      const changed = Number(prepare(sql).run(...values).changes)
      changes += changed
      return changed
    },
    get: <Row>(sql: string, ...values: Value[]) => prepare(sql).get(...values) as Row | undefined,
    getOne: <Row>(sql: string, ...values: Value[]) => prepare(sql).get(...values) as Row,
    all: <Row>(sql: string, ...values: Value[]) => prepare(sql).all(...values) as Row[],
    changes: () => changes,
    exec: (sql) => void driver.exec(sql),
    close: () => void driver.close(),
  }
}

/** True if another connection holds the lock. */
export const isBusy = (error: unknown): boolean => isResult(error, 5, 'SQLITE_BUSY')

/** True if the file is not a database. */
export const isNotADatabase = (error: unknown): boolean => isResult(error, 26, 'SQLITE_NOTADB')

/** True if SQLite reports a full disk. */
export const isFull = (error: unknown): boolean => isResult(error, 13, 'SQLITE_FULL')

/** True for errors that a full disk or a quota may have caused while a file was opened, created or extended. */
export const mayBeFull = (error: unknown): boolean =>
  isFull(error) ||
  isResult(error, 10, 'SQLITE_IOERR') ||
  isResult(error, 14, 'SQLITE_CANTOPEN') ||
  (error as { code?: unknown }).code === 'ENOSPC'

/** Result codes for values that SQLite cannot store. */
const VALUE_ERRORS = [
  [18, 'SQLITE_TOOBIG'],
  [19, 'SQLITE_CONSTRAINT'],
  [20, 'SQLITE_MISMATCH'],
  [25, 'SQLITE_RANGE'],
] as const

/** True if SQLite reported an error, except for values that it cannot store. False for errors in our own code. */
export function isStoreError(error: unknown): boolean {
  const { code, errcode } = error as { code?: unknown; errcode?: unknown }
  const isSqliteError = typeof errcode === 'number' || String(code).startsWith('SQLITE_')
  return isSqliteError && !VALUE_ERRORS.some(([number, name]) => isResult(error, number, name))
}

/**
 * True if the error has this result code or one of its extended codes. `node:sqlite` reports the number of a code, and
 * `better-sqlite3` its name.
 */
function isResult(error: unknown, number: number, name: string): boolean {
  const { code, errcode } = error as { code?: unknown; errcode?: unknown }
  if (typeof errcode === 'number') return (errcode & 0xff) === number
  return typeof code === 'string' && code.startsWith(name)
}

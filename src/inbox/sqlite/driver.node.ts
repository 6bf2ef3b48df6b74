import type BetterSqlite from 'better-sqlite3'
import { driverError } from '../driver.ts'

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

/**
 * Loads `node:sqlite`, or `better-sqlite3` if this version of Node lacks `node:sqlite`.
 *
 * @throws {MissingDriver}
 */
export async function loadDriver(): Promise<OpenDatabase> {
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

/** The result codes of SQLite that matter here. */
const RESULTS = {
  BUSY: 5,
  IOERR: 10,
  FULL: 13,
  CANTOPEN: 14,
  TOOBIG: 18,
  CONSTRAINT: 19,
  MISMATCH: 20,
  RANGE: 25,
  NOTADB: 26,
}

/**
 * Returns true if the error has one of these result codes, or one of their extended codes. `node:sqlite` reports the
 * number of a code, and `better-sqlite3` its name.
 */
function hasResult(error: unknown, ...results: (keyof typeof RESULTS)[]): boolean {
  const { code, errcode } = error as { code?: unknown; errcode?: unknown }
  return results.some((name) =>
    typeof errcode === 'number'
      ? (errcode & 0xff) === RESULTS[name]
      : String(code).startsWith(`SQLITE_${name}`),
  )
}

/** True if another connection holds the lock. */
export const isBusy = (error: unknown): boolean => hasResult(error, 'BUSY')

export const isNotADatabase = (error: unknown): boolean => hasResult(error, 'NOTADB')

export const isFull = (error: unknown): boolean => hasResult(error, 'FULL')

/** True for errors that a full disk or a quota may have caused while a file was opened, created or extended. */
export const mayBeFull = (error: unknown): boolean =>
  hasResult(error, 'FULL', 'IOERR', 'CANTOPEN') || (error as { code?: unknown }).code === 'ENOSPC'

/** True if SQLite reported an error, except for values that it cannot store. False for errors in our own code. */
export function isStoreError(error: unknown): boolean {
  const { code, errcode } = error as { code?: unknown; errcode?: unknown }
  const isSqliteError = typeof errcode === 'number' || String(code).startsWith('SQLITE_')
  return isSqliteError && !hasResult(error, 'TOOBIG', 'CONSTRAINT', 'MISMATCH', 'RANGE')
}

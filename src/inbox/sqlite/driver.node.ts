import type BetterSqlite from 'better-sqlite3'
import { WebhookError } from '../../errors.ts'

/** What SQLite keeps in a column. */
export type Value = string | number | Uint8Array | null

/** An open database. Each statement is prepared once. */
export interface Database {
  /** @returns how many rows it changed */
  run(sql: string, ...values: Value[]): number
  get<Row>(sql: string, ...values: Value[]): Row | undefined
  all<Row>(sql: string, ...values: Value[]): Row[]
  /** Runs several statements. */
  exec(sql: string): void
  close(): void
}

/** Opens a file; it is made where it is not there. Nothing waits for a lock: that would stop the event loop. */
export type OpenDatabase = (path: string) => Database

/** What both drivers have. */
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
 * `node:sqlite`, or `better-sqlite3` in a Node that has none.
 *
 * @throws {WebhookError} `config_invalid`
 */
export async function loadDriver(): Promise<OpenDatabase> {
  const builtIn = process.getBuiltinModule('node:sqlite') as
    | { DatabaseSync: new (path: string) => Driver }
    | undefined
  if (builtIn) return (path) => toDatabase(new builtIn.DatabaseSync(path))
  let Better: typeof BetterSqlite
  try {
    Better = (await import('better-sqlite3')).default
    new Better(':memory:').close() // one that was not compiled for this Node shows it only here
  } catch (cause) {
    throw new WebhookError('config_invalid', {
      message: 'there is neither node:sqlite nor better-sqlite3 here',
      hint: 'Use Node 22.13 or newer, or: npm install better-sqlite3',
      cause,
    })
  }
  return (path) => toDatabase(new Better(path, { timeout: 0 }) as Driver)
}

function toDatabase(driver: Driver): Database {
  const statements = new Map<string, ReturnType<Driver['prepare']>>()
  const prepare = (sql: string) => {
    const statement = statements.get(sql) ?? driver.prepare(sql)
    statements.set(sql, statement)
    return statement
  }

  return {
    run: (sql, ...values) => Number(prepare(sql).run(...values).changes),
    get: <Row>(sql: string, ...values: Value[]) => prepare(sql).get(...values) as Row | undefined,
    all: <Row>(sql: string, ...values: Value[]) => prepare(sql).all(...values) as Row[],
    exec: (sql) => void driver.exec(sql),
    close: () => void driver.close(),
  }
}

/** Another connection holds the lock. */
export const isBusy = (error: unknown): boolean => isResult(error, 5, 'SQLITE_BUSY')

export const isNoDatabase = (error: unknown): boolean => isResult(error, 26, 'SQLITE_NOTADB')

/** The disk is full. */
export const isFull = (error: unknown): boolean => isResult(error, 13, 'SQLITE_FULL')

/** What a full disk, or a quota, looks like in other places: files cannot be opened, made or made longer. */
export const mayBeFull = (error: unknown): boolean =>
  isFull(error) ||
  isResult(error, 10, 'SQLITE_IOERR') ||
  isResult(error, 14, 'SQLITE_CANTOPEN') ||
  (error as { code?: unknown }).code === 'ENOSPC'

/** What SQLite says of values that it cannot take. */
const OF_VALUES = [
  [18, 'SQLITE_TOOBIG'],
  [19, 'SQLITE_CONSTRAINT'],
  [20, 'SQLITE_MISMATCH'],
  [25, 'SQLITE_RANGE'],
] as const

/** The store is to blame, not what it was asked to keep, and not the program. */
export function isOfStore(error: unknown): boolean {
  const { code, errcode } = error as { code?: unknown; errcode?: unknown }
  const isOfSqlite = typeof errcode === 'number' || String(code).startsWith('SQLITE_')
  return isOfSqlite && !OF_VALUES.some(([number, name]) => isResult(error, number, name))
}

/** One driver gives SQLite's number, the other its name; both may be of a special case. */
function isResult(error: unknown, number: number, name: string): boolean {
  const { code, errcode } = error as { code?: unknown; errcode?: unknown }
  if (typeof errcode === 'number') return (errcode & 0xff) === number
  return typeof code === 'string' && code.startsWith(name)
}

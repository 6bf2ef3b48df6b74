import { createRequire } from 'node:module'
import { root } from '../package/entries.ts'
import { type Started, startNode } from './process.ts'

/** An expression for the available SQLite class. It is a string, because tests also pass it to child processes. */
const CLASS = "process.getBuiltinModule('node:sqlite')?.DatabaseSync ?? require('better-sqlite3')"

interface Opened {
  exec(sql: string): void
  prepare(sql: string): { get(): unknown; all(): unknown[] }
  close(): void
}

type DatabaseClass = new (path: string) => Opened

/** The SQLite class of the available driver. Without a driver, the constructor throws. */
export const SqliteDatabase: DatabaseClass = load()

function load(): DatabaseClass {
  try {
    return new Function('require', `return ${CLASS}`)(createRequire(import.meta.url))
  } catch (error) {
    return class {
      constructor() {
        throw error
      }
    } as unknown as DatabaseClass
  }
}

/** Opens a database directly, without geohook. */
export const openDatabase = (path: string): Opened => new SqliteDatabase(path)

/** Starts a process that holds the write lock of a database until the process is stopped. */
export const lock = (path: string): Promise<Started> => hold(path, 'BEGIN IMMEDIATE')

/** Starts a process that runs SQL in a database, and keeps the database open until the process is stopped. */
export async function hold(path: string, sql: string): Promise<Started> {
  const program = `
    const db = new (${CLASS})(process.argv[1])
    db.exec(process.argv[2])
    console.log('ready')
    setInterval(() => {}, 1000)`
  const started = startNode(['--input-type=commonjs', '--eval', program, path, sql], {}, { cwd: root })
  await started.printed(/ready/)
  return started
}

import { closeSync, openSync, statSync } from 'node:fs'
import { resolve } from 'node:path'
import { configInvalid } from '../../errors.ts'
import type { Database, OpenDatabase } from './driver.node.ts'
import { APPLICATION_ID, STEPS } from './schema.ts'

/** An open inbox file. */
export interface Connection {
  db: Database
  /** Throws where the file at the path is no longer the one that is open: what is written into that is lost. */
  requireFile(): void
  close(): void
}

/**
 * The path as it will be opened, whatever the working directory is then.
 *
 * @throws {WebhookError} `config_invalid`
 */
export function readPath(path: unknown): string {
  if (typeof path !== 'string' || path === '' || path === ':memory:')
    throw configInvalid('path must be the path of a file', 'In memory there is createMemoryInbox().')
  // SQLite would read the first as a URL, and a driver would cut the others off.
  if (/^file:|^\s|\s$|\0/.test(path))
    throw configInvalid('path must be a plain path, without white space around it')
  return resolve(path)
}

/**
 * Opens an inbox file, or makes one.
 *
 * @throws {WebhookError} `config_invalid` where it is something else, which is left as it was
 */
export function openFile(open: OpenDatabase, path: string): Connection {
  createPrivately(path)
  const db = open(path)
  try {
    prepare(db, path)
    const { dev, ino } = statSync(path)
    return {
      db,
      requireFile() {
        const now = statSync(path, { throwIfNoEntry: false })
        if (now?.ino !== ino || now.dev !== dev) throw new Error(`${path} was removed or replaced`)
      },
      close: () => db.close(),
    }
  } catch (error) {
    db.close()
    throw error
  }
}

/**
 * Only the owner may read what senders send; SQLite gives the files beside it the same mode. A file that is there is
 * not even opened: closing it would take away the locks that this process has on it.
 */
function createPrivately(path: string): void {
  try {
    closeSync(openSync(path, 'wx', 0o600))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
}

function prepare(db: Database, path: string): void {
  db.exec('BEGIN') // so that no other process makes the file between two looks at it
  const version = readVersion(db, path)
  db.exec('COMMIT')
  // Has to come before anything is in the file: with it, what is removed makes the file smaller.
  if (version === 0) db.exec('PRAGMA auto_vacuum = INCREMENTAL')
  const mode = db.get<{ journal_mode: string }>('PRAGMA journal_mode = WAL')?.journal_mode
  if (mode !== 'wal') throw configInvalid(`${path} is on a file system without shared memory`)
  // FULL: what is committed survives a power failure. fullfsync is the same for macOS.
  db.exec('PRAGMA synchronous = FULL; PRAGMA fullfsync = ON; PRAGMA journal_size_limit = 16777216')
  db.exec('PRAGMA temp_store = MEMORY')
  if (version < STEPS.length) upgrade(db, path)
}

/** Another process may have been faster, so the version is read again in the same transaction. */
function upgrade(db: Database, path: string): void {
  db.exec('BEGIN IMMEDIATE')
  for (const step of STEPS.slice(readVersion(db, path))) db.exec(step)
  db.exec(`PRAGMA user_version = ${STEPS.length}`)
  db.exec('COMMIT')
}

/** The version of the tables; 0 if the file is empty. */
function readVersion(db: Database, path: string): number {
  const version = number(db, 'PRAGMA user_version')
  const application = number(db, 'PRAGMA application_id')
  if (application === APPLICATION_ID) {
    if (version >= 1 && version <= STEPS.length) return version
    throw configInvalid(
      `${path} was made by a newer version of geohook`,
      'Use that version, or another path.',
    )
  }
  const isEmpty = number(db, 'SELECT count(*) FROM sqlite_schema') === 0
  if (isEmpty && application === 0 && version === 0) return 0
  throw configInvalid(`${path} is a database, but no inbox of geohook`, 'Give the inbox a file of its own.')
}

const number = (db: Database, sql: string): number =>
  Object.values(db.get<Record<string, number>>(sql) ?? {})[0] ?? 0

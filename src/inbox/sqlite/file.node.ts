import { resolve } from 'node:path'
import { configInvalid } from '../../errors.ts'
import { type Database, isNoDatabase, type OpenDatabase } from './driver.node.ts'
import { createPrivately, noDatabase } from './making.node.ts'
import { type Parts, rememberParts } from './parts.node.ts'
import { realPath } from './real-path.node.ts'
import { pagesInLog } from './reserve.node.ts'
import { APPLICATION_ID, STEPS } from './schema.ts'

/** An open inbox file. */
export interface Connection {
  db: Database
  /** Begins a transaction that writes; only with `FULL` it waits for the disk at its end. */
  begin(synchronous: 'FULL' | 'NORMAL'): void
  /** Throws if a file of the database was deleted or replaced: what is written into it is lost. */
  requireFiles(): void
  /** Ends a transaction that failed, and moves the write-ahead log into the database. False if that is not possible now. */
  checkpoint(): boolean
  /** False if this connection has to stay: only it can still read a deleted log. */
  close(): boolean
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
  const real = realPath(path)
  createPrivately(real)
  const db = open(real)
  try {
    prepare(db, real)
    return connect(db, rememberParts(path, real))
  } catch (error) {
    db.close()
    throw isNoDatabase(error) ? noDatabase(real, error) : error
  }
}

function connect(db: Database, parts: Parts): Connection {
  let isLogOurs = !parts.isLogEmpty

  function checkpoint(): boolean {
    try {
      db.exec('ROLLBACK')
    } catch {} // SQLite has done so, or nothing had begun
    try {
      return isMoved(db)
    } catch {
      return false
    }
  }

  return {
    db,
    begin(synchronous) {
      db.exec(`PRAGMA synchronous = ${synchronous}`)
      db.run('BEGIN IMMEDIATE')
      parts.require()
      if (isLogOurs) return
      // Other processes may still use a log that was deleted. They write no more, because they look at their files
      // first. What only their log holds cannot be moved by us: until they have moved it, nothing is written here.
      db.run('ROLLBACK')
      if (!isMoved(db)) throw Object.assign(new Error('a deleted log is in use'), { code: 'SQLITE_BUSY' })
      isLogOurs = true
      db.run('BEGIN IMMEDIATE')
    },
    requireFiles: parts.require,
    checkpoint,
    close() {
      if (parts.canBeSaved() && !checkpoint()) return false
      db.close()
      return true
    },
  }
}

/** Moves what the write-ahead log holds into the database. False if others still read it, or move it themselves. */
function isMoved(db: Database): boolean {
  const { busy, log, checkpointed } =
    db.get<{ busy: number; log: number; checkpointed: number }>('PRAGMA wal_checkpoint(PASSIVE)') ?? {}
  return busy === 0 && log === checkpointed
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
  db.exec(`PRAGMA wal_autocheckpoint = ${pagesInLog(path)}`)
  db.exec('PRAGMA temp_store = MEMORY')
  // Read anew: only the first look after WAL is switched on makes the files of the log.
  if (readVersion(db, path) < STEPS.length) upgrade(db, path)
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

import { configInvalid } from '../../errors.ts'
import { maxLogPages } from './disk-reserve.node.ts'
import { type Database, isNotADatabase, type OpenDatabase } from './driver.node.ts'
import { type OpenFiles, watchOpenFiles } from './open-files.node.ts'
import { createEmptyFile, notADatabase, realPath, requireUsable } from './path.node.ts'
import { APPLICATION_ID, UPGRADES } from './schema.ts'

/** An open inbox file. */
export interface Connection {
  db: Database
  /** Begins a write transaction. */
  begin(): void
  /**
   * Throws if a file of the database was deleted or replaced, because further writes would be lost, or if a newer
   * version of geohook has upgraded the tables.
   */
  requireFiles(): void
  /**
   * Rolls back a failed transaction, and moves the write-ahead log into the database. Returns false if the log cannot
   * be moved completely.
   */
  checkpoint(): boolean
  /**
   * Closes the connection. Returns false and keeps it open if the log was deleted and cannot be moved into the database
   * yet, because the connection can still read it, or if closing would damage the database.
   */
  close(): boolean
}

/**
 * Opens an inbox file, and creates it if it is missing.
 *
 * @throws {WebhookError} `config_invalid` if the file is not an inbox; the file stays unchanged
 */
export function openFile(open: OpenDatabase, path: string): Connection {
  const real = realPath(path)
  if (!createEmptyFile(real)) requireUsable(real)
  const db = open(real)
  try {
    prepare(db, real)
    return connect(db, real, watchOpenFiles(path, real), () => open(real))
  } catch (error) {
    db.close()
    throw isNotADatabase(error) ? notADatabase(real, error) : error
  }
}

function connect(db: Database, path: string, files: OpenFiles, openAgain: () => Database): Connection {
  let isLogOurs = !files.isLogEmpty

  function requireFiles(): void {
    files.requireSame()
    readVersion(db, path)
  }

  function checkpoint(): boolean {
    try {
      db.exec('ROLLBACK')
    } catch {} // SQLite has already rolled back, or no transaction had begun
    try {
      return moveLog(db)
    } catch {
      return false
    }
  }

  return {
    db,
    begin() {
      db.run('BEGIN IMMEDIATE')
      requireFiles()
      if (isLogOurs) return
      // The log was empty when this process opened it, so other processes may still have a deleted log open. Write
      // nothing until they have moved its transactions into the database. They add no transactions to it, because they
      // check their files before each write.
      db.run('ROLLBACK')
      if (!moveLog(db)) throw Object.assign(new Error('a deleted log is in use'), { code: 'SQLITE_BUSY' })
      isLogOurs = true
      db.run('BEGIN IMMEDIATE')
    },
    requireFiles,
    checkpoint,
    close() {
      if (files.canSaveLog() && !checkpoint()) return false
      if (files.isLogReplaced()) return closeReplaced(db, openAgain)
      db.close()
      return true
    },
  }
}

/**
 * Closes a connection whose log was replaced. SQLite moves a log into the database when the last connection closes. The
 * old connection would use the index of the new log for pages of the deleted log, and so damage the database. This
 * function therefore opens a newer connection and closes it last. Returns false and closes nothing if that fails.
 */
function closeReplaced(older: Database, open: () => Database): boolean {
  let newer: Database | undefined
  try {
    newer = open()
    readNumber(newer, 'PRAGMA user_version') // SQLite opens the log at the first read
  } catch {
    newer?.close()
    return false
  }
  older.close()
  newer.close()
  return true
}

/** Moves the write-ahead log into the database. Returns false if other processes are reading or moving the log. */
function moveLog(db: Database): boolean {
  const { busy, log, checkpointed } = db.getOne<{ busy: number; log: number; checkpointed: number }>(
    'PRAGMA wal_checkpoint(PASSIVE)',
  )
  return busy === 0 && log === checkpointed
}

function prepare(db: Database, path: string): void {
  db.exec('BEGIN') // lets all reads of readVersion() see the same state of the file
  const version = readVersion(db, path)
  db.exec('COMMIT')
  // Lets the file shrink when rows are removed. SQLite accepts this setting only while the file is empty.
  if (version === 0) db.exec('PRAGMA auto_vacuum = INCREMENTAL')
  const { journal_mode } = db.getOne<{ journal_mode: string }>('PRAGMA journal_mode = WAL')
  if (journal_mode !== 'wal') throw configInvalid(`${path} is on a file system without shared memory`)
  // With `synchronous = FULL`, a commit survives a power failure. On macOS, this also requires `fullfsync`.
  db.exec('PRAGMA synchronous = FULL; PRAGMA fullfsync = ON; PRAGMA journal_size_limit = 16777216')
  db.exec(`PRAGMA wal_autocheckpoint = ${maxLogPages(path)}`)
  db.exec('PRAGMA temp_store = MEMORY')
  // Read the version again, because the first read in WAL mode creates the log files, which watchOpenFiles() needs.
  if (readVersion(db, path) < UPGRADES.length) upgrade(db, path)
}

/**
 * Upgrades the tables. Reads the version inside the transaction, because another process may have just upgraded them.
 */
function upgrade(db: Database, path: string): void {
  db.exec('BEGIN IMMEDIATE')
  for (const upgrade of UPGRADES.slice(readVersion(db, path))) db.exec(upgrade)
  db.exec(`PRAGMA user_version = ${UPGRADES.length}`)
  db.exec('COMMIT')
}

/**
 * Returns the version of the tables, or 0 if the file is empty.
 *
 * @throws {WebhookError} `config_invalid` if the file is not an inbox, or if its tables are too new
 */
function readVersion(db: Database, path: string): number {
  const version = readNumber(db, 'PRAGMA user_version')
  const application = readNumber(db, 'PRAGMA application_id')
  if (application === APPLICATION_ID) {
    if (version >= 1 && version <= UPGRADES.length) return version
    const hasMeta = readNumber(db, "SELECT count(*) FROM sqlite_schema WHERE name = 'meta'") > 0
    if (version > 0 && hasMeta && readNumber(db, 'SELECT compatible FROM meta') <= UPGRADES.length)
      return version
    throw configInvalid(
      `${path} has version ${version} of the inbox tables, but this version of geohook supports only 1 to ${UPGRADES.length}`,
      'If a newer version of geohook created the file, use that version. Otherwise, use another path.',
    )
  }
  const isEmpty = readNumber(db, 'SELECT count(*) FROM sqlite_schema') === 0
  if (isEmpty && application === 0 && version === 0) return 0
  throw configInvalid(
    `${path} is a database, but not an inbox of geohook`,
    'Give the inbox a file of its own.',
  )
}

const readNumber = (db: Database, sql: string): number =>
  Object.values(db.getOne<Record<string, number>>(sql))[0] as number

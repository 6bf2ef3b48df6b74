import type { TaskKey } from '../engine-port.ts'
import type { Database } from './driver.node.ts'
import type { Transactions } from './transactions.ts'

/**
 * Maximum number of tasks, and of body bytes, removed in one transaction. They are limited because the transaction blocks
 * the event loop.
 */
export const MAX_REMOVED = 250
export const MAX_REMOVED_BYTES: number = 64 * 1024 ** 2

/** Maximum number of 4 KiB pages that one transaction truncates from the end of the file. */
const VACUUM_PAGES = 500

/** Replaces `VACUUM_PAGES` on a full disk, where the changed pages must fit into the existing write-ahead log. */
const FULL_DISK_PAGES = 32

/** A task with the size of its body in bytes. */
export interface Sized extends TaskKey {
  size: number
}

/** Returns the longest prefix of `rows` whose total size is at most `maxBytes`, but at least one row. */
export function upToBytes<Row extends Sized>(rows: readonly Row[], maxBytes: number): Row[] {
  let bytes = 0
  return rows.filter(({ size }, index) => {
    bytes += size
    return index === 0 || bytes <= maxBytes
  })
}

/** Shrinks the file by up to `pages` free pages. Returns the number of free pages that remain. */
export function vacuum(db: Database, pages: number = VACUUM_PAGES): number {
  db.exec(`PRAGMA incremental_vacuum(${pages})`)
  return db.getOne<{ freelist_count: number }>('PRAGMA freelist_count').freelist_count
}

/**
 * Removes the bodies of the deliveries whose tasks are all done, and that follow the one with this `due` and `seq`, within
 * a size limit. Returns their tasks.
 */
function removeBodies(db: Database, { due, seq }: { due: number; seq: number }): (Sized & { due: number })[] {
  const done = db.all<Sized & { due: number }>(
    `SELECT seq, handler, size, due FROM task JOIN delivery USING (seq)
     WHERE state = 2 AND state >= 2 AND (due, seq) > (?, ?)
       AND NOT EXISTS (SELECT 1 FROM task AS other WHERE other.seq = task.seq AND other.state <> 2)
     ORDER BY due, seq LIMIT 250`,
    ...[due, seq],
  )
  const batch = upToBytes(done, FULL_DISK_PAGES * 4_096)
  for (const { seq } of batch) db.run('DELETE FROM content WHERE seq = ?', seq)
  return batch
}

/**
 * Creates a function that frees space if the disk is full: it deletes the bodies of done deliveries, oldest first, and
 * shrinks the file. These deliveries are still recognized as duplicates.
 */
export function createReclaimer({ write, read, reserve }: Transactions): () => void {
  let isRunning = false

  async function reclaim(): Promise<void> {
    let ended = { due: 0, seq: 0 }
    while (reserve.isShort()) {
      const { done, free } = await write((db) => ({
        done: removeBodies(db, ended),
        free: vacuum(db, FULL_DISK_PAGES),
      }))
      await read((db) => db.get('PRAGMA wal_checkpoint(PASSIVE)')) // shrinks the file
      if (done.length === 0 && free === 0) return
      ended = done.at(-1) ?? ended
    }
  }

  return () => {
    if (isRunning) return
    isRunning = true
    reclaim()
      .catch(() => {}) // the next rejected delivery calls reclaim() again
      .finally(() => {
        isRunning = false
      })
  }
}

import type { Database } from './driver.node.ts'
import type { Store } from './store.ts'

/** Bytes of bodies that one transaction removes: the event loop stands still meanwhile. */
export const REMOVED_AT_ONCE: number = 64 * 1024 ** 2

/** Pages of 4 KiB that are cut off the end of the file in one transaction. */
const PAGES_AT_ONCE = 500

/** The same while the disk is short: they have to fit into the write-ahead log as it is. */
const PAGES_WHEN_SHORT = 32

/** A row, and the bytes of its body. */
export interface Sized {
  seq: number
  size: number
}

/** The first rows, up to a sum of bytes, at least one. */
export function upToBytes<Row extends Sized>(rows: readonly Row[], most: number): Row[] {
  let bytes = 0
  return rows.filter(({ size }, index) => {
    bytes += size
    return index === 0 || bytes <= most
  })
}

/** Makes the file shorter by what is free in it; gives the pages that are left to be cut off. */
export function giveBack(db: Database, pages: number = PAGES_AT_ONCE): number {
  db.exec(`PRAGMA incremental_vacuum(${pages})`)
  return db.get<{ freelist_count: number }>('PRAGMA freelist_count')?.freelist_count ?? 0
}

/** Removes some bodies of deliveries that are done; gives the deliveries. */
function removeBodies(db: Database, { at, seq }: { at: number; seq: number }): (Sized & { at: number })[] {
  const done = db.all<Sized & { at: number }>(
    `SELECT seq, size, at FROM delivery WHERE state = 'done' AND (at, seq) > (?, ?) ORDER BY at, seq LIMIT 250`,
    ...[at, seq],
  )
  const some = upToBytes(done, PAGES_WHEN_SHORT * 4_096)
  for (const { seq } of some) db.run('DELETE FROM content WHERE seq = ?', seq)
  return some
}

/**
 * Gives a function that makes room when the disk is short: it deletes the bodies of deliveries that are done, those
 * that ended first at the beginning, and makes the file shorter. The deliveries stay known as duplicates.
 */
export function createRoomMaker({ write, read, reserve }: Store): () => void {
  let isMaking = false

  async function make(): Promise<void> {
    let ended = { at: -1, seq: -1 }
    while (reserve.isShort()) {
      const { done, free } = await write((db) => ({
        done: removeBodies(db, ended),
        free: giveBack(db, PAGES_WHEN_SHORT),
      }))
      await read((db) => db.get('PRAGMA wal_checkpoint(PASSIVE)')) // which makes the file shorter
      if (done.length === 0 && free === 0) return
      ended = done.at(-1) ?? ended
    }
  }

  return () => {
    if (isMaking) return
    isMaking = true
    make()
      .catch(() => {}) // the next delivery that is refused tries again
      .finally(() => {
        isMaking = false
      })
  }
}

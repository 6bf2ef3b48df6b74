import type { Database } from './driver.node.ts'

/** Milliseconds by which the kept time may be behind. */
const BEHIND = 500

/**
 * Reads a clock, and notices if it was set back: then all due times and leases in the file are moved back with it, by
 * whichever process sees it first. What is left of a wait or a lease stays what it was.
 *
 * Call it inside a transaction, and before each time that is written: no time in the file is then from a clock that
 * was ahead of the kept time by more than `BEHIND`.
 */
export function watchClock(clock: () => number): (db: Database) => number {
  /** The kept time, as this process last saw it. */
  let kept = Infinity

  return (db) => {
    const now = clock()
    if (now >= kept && now < kept + BEHIND) return now
    const latest = db.get<{ latest: number }>('SELECT latest FROM clock')?.latest ?? now
    const isBack = now < latest
    const isOld = now >= latest + BEHIND
    if (isBack) moveBack(db, latest - now)
    if (isBack || isOld) db.run('UPDATE clock SET latest = ?', now)
    // The transaction may still be rolled back: then the next one has to see the same.
    kept = isBack ? Infinity : isOld ? now : latest
    return now
  }
}

/** Claims that are done stay: they are only remembered for longer. */
function moveBack(db: Database, milliseconds: number): void {
  db.run("UPDATE delivery SET at = at - ? WHERE state IN ('waiting', 'active')", milliseconds)
  db.run('UPDATE claim SET until = until - ? WHERE owner IS NOT NULL', milliseconds)
}

import type { Database } from './driver.node.ts'

/** Maximum milliseconds by which the stored time lags behind the clock. */
const MAX_LAG = 500

/**
 * Returns a function that reads a clock and notices if it was set back. Then it moves all due times and leases in the
 * file back too, so that the rest of each delay and lease stays the same. The first process that notices does this.
 *
 * Call the function inside a transaction, before each time that is written. So no time in the file comes from a clock
 * that was more than `MAX_LAG` ahead of the stored time.
 */
export function watchClock(clock: () => number): (db: Database) => number {
  /** The stored time, as this process last saw it. */
  let stored = Infinity

  return (db) => {
    const now = clock()
    if (now >= stored && now < stored + MAX_LAG) return now
    const latest = db.get<{ latest: number }>('SELECT latest FROM clock')?.latest ?? now
    const isSetBack = now < latest
    const isOld = now >= latest + MAX_LAG
    if (isSetBack) moveBack(db, latest - now)
    if (isSetBack || isOld) db.run('UPDATE clock SET latest = ?', now)
    // If the transaction is rolled back, the next one has to detect the same change again.
    stored = isSetBack ? Infinity : isOld ? now : latest
    return now
  }
}

/** Claims that are done are not moved: they are only remembered for longer. */
function moveBack(db: Database, milliseconds: number): void {
  db.run("UPDATE delivery SET at = at - ? WHERE state IN ('waiting', 'active')", milliseconds)
  db.run('UPDATE claim SET until = until - ? WHERE owner IS NOT NULL', milliseconds)
}

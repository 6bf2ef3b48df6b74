import type { Database } from './driver.node.ts'

/** Maximum milliseconds by which the stored time lags behind the clock. */
const MAX_LAG = 500

/**
 * Returns a function that reads a clock and detects whether the clock was set back. The first process that detects this
 * moves all due times and leases in the file back by the same amount, so that the remaining delays and lease durations
 * do not change.
 *
 * Call the function inside a transaction before each write of a time. This keeps the stored time within `MAX_LAG` of
 * the clock, so a set-back that is not detected can lengthen a delay or lease by at most `MAX_LAG`.
 */
export function watchClock(clock: () => number): (db: Database) => number {
  /** The stored time, as last read by this process. */
  let stored = Infinity

  return (db) => {
    const now = clock()
    if (now >= stored && now < stored + MAX_LAG) return now
    const { latest } = db.getOne<{ latest: number }>('SELECT latest FROM clock')
    const isSetBack = now < latest
    const isOld = now >= latest + MAX_LAG
    if (isSetBack) moveBack(db, latest - now)
    if (isSetBack || isOld) db.run('UPDATE clock SET latest = ?', now)
    // Do not remember the new time after a set-back: if the transaction is rolled back, the next one has to detect the
    // set-back again.
    stored = isSetBack ? Infinity : isOld ? now : latest
    return now
  }
}

/**
 * Moves due times and leases back. The expiry times of done claims are not moved, so these claims are remembered for
 * longer.
 */
function moveBack(db: Database, milliseconds: number): void {
  db.run(
    'UPDATE task SET due = due - ?, failing_since = failing_since - ? WHERE state IN (0, 1, 4, 5)',
    ...[milliseconds, milliseconds],
  )
  db.run('UPDATE claim SET until = until - ? WHERE owner IS NOT NULL', milliseconds)
}

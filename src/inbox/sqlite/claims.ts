import type { ClaimTable } from '../claims.ts'
import { watchClock } from './clock.ts'
import type { Store } from './store.ts'

/** Claims that have lapsed, and what was done long ago, are removed with each new claim, so many at most. */
const FORGOTTEN = 20

export function createSqliteClaims({ write, close }: Store): ClaimTable {
  const timeIn = watchClock(Date.now)
  return {
    claim: (id, owner, lease) =>
      write((db) => {
        const now = timeIn(db)
        const kept = db.get<{ owner: string | null; until: number }>(
          'SELECT owner, until FROM claim WHERE id = ?',
          id,
        )
        if (kept && kept.until > now) return kept.owner === null ? 'done' : 'busy'
        db.run(
          'DELETE FROM claim WHERE id IN (SELECT id FROM claim WHERE until <= ? ORDER BY until LIMIT ?)',
          ...[now, FORGOTTEN],
        )
        db.run('INSERT OR REPLACE INTO claim VALUES (?, ?, ?)', id, owner, now + lease)
        return 'claimed'
      }),
    renew: (ids, owner, lease) =>
      write((db) => {
        const until = timeIn(db) + lease
        for (const id of ids)
          db.run('UPDATE claim SET until = ? WHERE id = ? AND owner = ?', until, id, owner)
      }),
    done: (id, retention) =>
      write((db) => {
        db.run(
          'INSERT OR REPLACE INTO claim VALUES (?, NULL, ?)',
          id,
          Math.min(timeIn(db) + retention, Number.MAX_SAFE_INTEGER),
        )
      }),
    release: (id, owner) =>
      write((db) => {
        db.run('DELETE FROM claim WHERE id = ? AND owner = ?', id, owner)
      }),
    close,
  }
}

import type { DuplicatesTable } from '../duplicates.ts'
import { watchClock } from './clock.ts'
import type { Transactions } from './transactions.ts'

/** Maximum number of expired rows to remove with each new claim. */
const REMOVED_PER_CLAIM = 20

/** Creates a table of claims in an inbox file. A row without an owner is a done delivery. */
export function createSqliteDuplicatesTable({ write, close }: Transactions): DuplicatesTable {
  const readTime = watchClock(Date.now)
  return {
    claim: (id, owner, lease) =>
      write((db) => {
        const now = readTime(db)
        const kept = db.get<{ owner: string | null; until: number }>(
          'SELECT owner, until FROM claim WHERE id = ?',
          id,
        )
        if (kept && kept.until > now) return kept.owner === null ? 'done' : 'busy'
        db.run(
          'DELETE FROM claim WHERE id IN (SELECT id FROM claim WHERE until <= ? ORDER BY until LIMIT ?)',
          ...[now, REMOVED_PER_CLAIM],
        )
        db.run('INSERT OR REPLACE INTO claim VALUES (?, ?, ?)', id, owner, now + lease)
        return 'claimed'
      }),
    renew: (ids, owner, lease) =>
      write((db) => {
        const until = readTime(db) + lease
        for (const id of ids)
          db.run('UPDATE claim SET until = ? WHERE id = ? AND owner = ?', until, id, owner)
      }),
    done: (id, retention) =>
      write((db) => {
        const until = Math.min(readTime(db) + retention, Number.MAX_SAFE_INTEGER)
        db.run('INSERT OR REPLACE INTO claim VALUES (?, NULL, ?)', id, until)
      }),
    release: (id, owner) =>
      write((db) => void db.run('DELETE FROM claim WHERE id = ? AND owner = ?', id, owner)),
    close,
  }
}

import type { DuplicatesTable } from '../duplicates.ts'

/** Creates an in-memory table of claims. */
export function createMemoryDuplicatesTable(maxEntries: number, clock: () => number): DuplicatesTable {
  const claims = new Map<string, { owner: string; until: number }>()
  /**
   * Expiry time of each done delivery. Entries are in the order in which the deliveries were done, so the first entry
   * expires next.
   */
  const done = new Map<string, number>()

  /** Removes expired done deliveries. Then, while there is no space for one more, removes the oldest. */
  function evict(): void {
    for (const [id, until] of done) {
      if (until > clock() && done.size + claims.size < maxEntries) return
      done.delete(id)
    }
  }

  return {
    async claim(id, owner, lease) {
      if ((done.get(id) ?? 0) > clock()) return 'done'
      if ((claims.get(id)?.until ?? 0) > clock()) return 'busy'
      evict()
      if (claims.size >= maxEntries) throw new Error(`${maxEntries} deliveries are in progress`)
      claims.set(id, { owner, until: clock() + lease })
      return 'claimed'
    },
    async renew(ids, owner, lease) {
      for (const id of ids) {
        const claim = claims.get(id)
        if (claim?.owner === owner) claim.until = clock() + lease
      }
    },
    async done(id, retention) {
      claims.delete(id)
      done.delete(id)
      done.set(id, clock() + retention)
    },
    async release(id, owner) {
      if (claims.get(id)?.owner === owner) claims.delete(id)
    },
    async close() {},
  }
}

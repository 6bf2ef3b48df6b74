import type { DuplicatesTable } from '../duplicates.ts'

export function createMemoryDuplicatesTable(maxEntries: number, clock: () => number): DuplicatesTable {
  /** Claims, and done deliveries, which have no owner and are in the order in which they were done. */
  const kept = new Map<string, { owner?: string; until: number }>()

  /** Removes expired done deliveries. Then, while there is no space for one more, removes the oldest. */
  function evict(): void {
    for (const [id, { owner, until }] of kept) {
      if (owner !== undefined) continue
      if (until > clock() && kept.size < maxEntries) return
      kept.delete(id)
    }
  }

  return {
    async claim(id, owner, lease) {
      const known = kept.get(id)
      if (known && known.until > clock()) return known.owner === undefined ? 'done' : 'busy'
      evict()
      if (kept.size >= maxEntries) throw new Error(`${maxEntries} deliveries are in progress`)
      kept.set(id, { owner, until: clock() + lease })
      return 'claimed'
    },
    async renew(ids, owner, lease) {
      for (const id of ids) {
        const claim = kept.get(id)
        if (claim?.owner === owner) claim.until = clock() + lease
      }
    },
    async done(id, retention) {
      kept.delete(id)
      kept.set(id, { until: clock() + retention })
    },
    async release(id, owner) {
      if (kept.get(id)?.owner === owner) kept.delete(id)
    },
    async close() {},
  }
}

/**
 * Milliseconds for which a count is reused while the inbox is full. Handlers may have freed places since the count.
 */
const FULL_COUNT_TTL = 100

/** Tracks the free places in an inbox from the last count and the deliveries added since. */
export interface Capacity {
  /** Reserves a place until `release` is called. Resolves with false if there is none. */
  acquire(maxPending: number): Promise<boolean>
  /** Ends a reservation. The place counts as used if `isUsed` is true; otherwise it is free again. */
  release(isUsed: boolean): void
}

/**
 * Limits an inbox to `maxPending` deliveries without running a count for every delivery.
 *
 * @param count resolves with the number of pending deliveries, or with `limit` if there are more
 * @param ttl milliseconds for which a count is reused while the inbox has free places
 */
export function createCapacity(count: (limit: number) => Promise<number>, ttl: number): Capacity {
  let counted = 0
  let countedAt = -Infinity
  let counting: Promise<void> | undefined
  /** Number of places reserved for deliveries that a count may not include yet. */
  let reserved = 0
  let added = 0

  async function recount(maxPending: number): Promise<void> {
    // The count may miss deliveries that are added while it runs.
    const addedBefore = added
    try {
      counted = (await count(maxPending)) + added - addedBefore
      countedAt = performance.now()
    } finally {
      counting = undefined
    }
  }

  return {
    async acquire(maxPending) {
      const age = performance.now() - countedAt
      if (age > (counted + reserved < maxPending ? ttl : FULL_COUNT_TTL)) {
        counting ??= recount(maxPending)
        await counting
      }
      if (counted + reserved >= maxPending) return false
      reserved++
      return true
    },
    release(isUsed) {
      reserved--
      if (!isUsed) return
      counted++
      added++
    },
  }
}

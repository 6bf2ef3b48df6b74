/**
 * Milliseconds for which a count is reused while the inbox is full. This is short, because handlers may have freed
 * places since the count.
 */
const FULL_COUNT_TTL = 100

/**
 * Tracks how many deliveries an inbox can still accept. It uses the last count and the number of deliveries added
 * since.
 */
export interface Capacity {
  /** Reserves a place until `release` is called. Resolves with false if no place is free. */
  acquire(maxPending: number): Promise<boolean>
  /** Ends a reservation. If `isUsed` is true, a delivery now occupies the place; otherwise the place is free again. */
  release(isUsed: boolean): void
}

/**
 * Limits an inbox to `maxPending` deliveries, without counting the pending deliveries each time one is added.
 *
 * @param count resolves with the number of pending deliveries, but need not count beyond `limit`
 * @param ttl milliseconds for which a count is reused while the inbox has free places
 */
export function createCapacity(count: (limit: number) => Promise<number>, ttl: number): Capacity {
  let counted = 0
  let countedAt = -Infinity
  let counting: Promise<void> | undefined
  /** Number of reserved places. A count may not include their deliveries yet. */
  let reserved = 0
  let added = 0

  async function recount(maxPending: number): Promise<void> {
    // Deliveries added while the count runs may be missing from it, so they are added to the result.
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

/** Maximum milliseconds between two counts while deliveries are stored. */
const MAX_INTERVAL = 1_000

/** Milliseconds between two counts while the inbox is almost full. */
const MIN_INTERVAL = 100

/** Counts take at most this share of the time. */
const MAX_SHARE = 0.1

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
 * Limits an inbox to `maxPending` deliveries. They are counted in the background, more often when few places are left:
 * only the first delivery, and those for which no place is left, wait for a count.
 *
 * @param count resolves with the number of pending deliveries, but need not count beyond `limit`
 */
export function createCapacity(count: (limit: number) => Promise<number>): Capacity {
  let counted = 0
  let countedAt = -Infinity
  let duration = 0
  let counting: Promise<void> | undefined
  /** Number of reserved places. A count may not include their deliveries yet. */
  let reserved = 0
  let added = 0

  async function recount(maxPending: number): Promise<void> {
    // Deliveries added while the count runs may be missing from it, so they are added to the result.
    const addedBefore = added
    const started = performance.now()
    try {
      counted = (await count(maxPending)) + added - addedBefore
      countedAt = performance.now()
      duration = countedAt - started
    } finally {
      counting = undefined
    }
  }

  return {
    async acquire(maxPending) {
      const isFull = () => counted + reserved >= maxPending
      const share = 1 - (counted + reserved) / maxPending
      const interval = Math.max(MIN_INTERVAL, duration / MAX_SHARE, MAX_INTERVAL * share)
      if (performance.now() - countedAt > interval) counting ??= recount(maxPending)
      if (counting) {
        if (countedAt === -Infinity || isFull()) await counting
        else counting.catch(() => {}) // the insert that follows reports a broken connection
      }
      if (isFull()) return false
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

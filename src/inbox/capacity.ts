/** Milliseconds for which a count is reused while the inbox is full: handlers may have finished deliveries since. */
const FULL_COUNT_TTL = 100

/** Free places in an inbox, from the last count and the deliveries added since. */
export interface Capacity {
  /** Reserves a place until `release` is called. Resolves with false if there is none. */
  acquire(maxPending: number): Promise<boolean>
  /** Gives the place back, or counts it as used. */
  release(isUsed: boolean): void
}

/**
 * Limits an inbox to `maxPending` deliveries without a count for each of them.
 *
 * @param count resolves with the number of pending deliveries, or with `limit` if there are more
 * @param ttl milliseconds for which a count is used
 */
export function createCapacity(count: (limit: number) => Promise<number>, ttl: number): Capacity {
  let counted = 0
  let countedAt = -Infinity
  let counting: Promise<void> | undefined
  /** Reserved places that a count may not include yet. */
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

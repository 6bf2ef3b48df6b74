/** Milliseconds for which a count is good that says there is no room: handlers may have made some. */
const GOOD_WHEN_FULL = 100

/** How much room there is in an inbox, according to its last count and to what was put since then. */
export interface Room {
  /** Takes a place, until `end` is called; false if there is none. */
  take(maxPending: number): Promise<boolean>
  /** The place is used, or not. */
  end(isUsed: boolean): void
}

/**
 * @param count returns how many there are, or `most` if there are more
 * @param good milliseconds for which a count is good
 */
export function createRoom(count: (most: number) => Promise<number>, good: number): Room {
  let counted = 0
  let countedAt = -Infinity
  let counting: Promise<void> | undefined
  /** Places that are taken, and that a count may not show yet. */
  let open = 0
  let added = 0

  async function countAnew(maxPending: number): Promise<void> {
    // A count may not show what is added after it was asked for.
    const addedBefore = added
    try {
      counted = (await count(maxPending)) + added - addedBefore
      countedAt = performance.now()
    } finally {
      counting = undefined
    }
  }

  return {
    async take(maxPending) {
      const age = performance.now() - countedAt
      if (age > (counted + open < maxPending ? good : GOOD_WHEN_FULL)) {
        counting ??= countAnew(maxPending)
        await counting
      }
      if (counted + open >= maxPending) return false
      open++
      return true
    },
    end(isUsed) {
      open--
      if (!isUsed) return
      counted++
      added++
    },
  }
}

/** Milliseconds for which a count is good. */
const GOOD = 1_000

/** The same when it says that there is no room: some may have been made. */
const GOOD_WHEN_FULL = 100

/** How much room there is in an inbox, as of its last count and of what was put since then. */
export interface Room {
  /** Takes a place, until `end` is called; false where there is none. */
  take(maxPending: number): Promise<boolean>
  /** The place is used, or not. */
  end(isUsed: boolean): void
}

/** @param count gives how many there are, or `most` where there are more */
export function createRoom(count: (most: number) => Promise<number>): Room {
  let counted = 0
  let countedAt = -Infinity
  let counting: Promise<void> | undefined
  /** Places that are taken, and that a count may not show yet. */
  let open = 0

  async function countAnew(maxPending: number): Promise<void> {
    try {
      counted = await count(maxPending)
      countedAt = performance.now()
    } finally {
      counting = undefined
    }
  }

  return {
    async take(maxPending) {
      const age = performance.now() - countedAt
      if (age > (counted + open < maxPending ? GOOD : GOOD_WHEN_FULL)) {
        counting ??= countAnew(maxPending)
        await counting
      }
      if (counted + open >= maxPending) return false
      open++
      return true
    },
    end(isUsed) {
      open--
      if (isUsed) counted++
    },
  }
}

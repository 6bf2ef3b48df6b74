/** Bounds what this process puts into an inbox that others may put into as well. */
export interface Room {
  /**
   * Adds where there is room. What is added at the same time counts as well, so that many at once do not exceed the
   * bound.
   *
   * @param count gives how many there are
   */
  add<Result>(count: () => Promise<number>, add: () => Promise<Result>): Promise<Result | 'full'>
}

export function createRoom(most: number): Room {
  /** Those that have a place, and may not be counted yet. */
  let underWay = 0
  let added = 0

  return {
    async add(count, add) {
      // A count may not show what was added after it was asked for.
      const addedBefore = added
      const counted = await count()
      if (counted + underWay + added - addedBefore >= most) return 'full'
      underWay++
      try {
        return await add()
      } finally {
        underWay--
        added++
      }
    },
  }
}

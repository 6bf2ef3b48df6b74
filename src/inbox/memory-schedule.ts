/** Something that is due at a time. */
export interface Scheduled {
  /** Milliseconds since 1970. */
  at: number
  /** Of two that are due at once, the smaller one is first. */
  number: number
}

/** A binary heap: what is due first is at hand, without sorting all that waits. */
export interface Schedule<One extends Scheduled> {
  add(one: One): void
  first(): One | undefined
  removeFirst(): void
}

export function createSchedule<One extends Scheduled>(): Schedule<One> {
  const heap: One[] = []
  const isBefore = (a: One, b: One): boolean => a.at < b.at || (a.at === b.at && a.number < b.number)

  return {
    add(one) {
      let index = heap.length
      while (index > 0) {
        const above = (index - 1) >> 1
        const parent = heap[above] as One
        if (!isBefore(one, parent)) break
        heap[index] = parent
        index = above
      }
      heap[index] = one
    },

    first: () => heap[0],

    removeFirst() {
      const last = heap.pop()
      if (last === undefined || heap.length === 0) return
      let index = 0
      for (;;) {
        let below = 2 * index + 1
        const [left, right] = [heap[below], heap[below + 1]]
        if (left && right && isBefore(right, left)) below++
        const least = heap[below]
        if (!least || !isBefore(least, last)) break
        heap[index] = least
        index = below
      }
      heap[index] = last
    },
  }
}

/** Lets so many work at once; the others wait for their turn, in order. */
export interface Turns {
  /** @returns undefined where it is one's turn at once */
  take(): Promise<void> | undefined
  /** Ends a turn: the next one's begins. */
  end(): void
}

interface Waiting {
  begin(): void
  next: Waiting | undefined
}

/** @param count how many at once */
export function createTurns(count: number): Turns {
  let free = count
  let first: Waiting | undefined
  let last: Waiting | undefined

  function wait(begin: () => void): void {
    const waiting: Waiting = { begin, next: undefined }
    if (last) last.next = waiting
    else first = waiting
    last = waiting
  }

  return {
    take() {
      if (free === 0) return new Promise(wait)
      free -= 1
      return undefined
    },
    end() {
      if (!first) {
        free += 1
        return
      }
      const ended = first
      first = ended.next
      if (!first) last = undefined
      ended.begin()
    },
  }
}

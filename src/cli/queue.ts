/** Runs tasks one after another. */
export interface Queue {
  /** Tasks that wait or run. */
  readonly size: number
  add(task: () => Promise<void>): void
  /** Resolves when all that was added is done. */
  idle(): Promise<void>
}

export function createQueue(): Queue {
  let size = 0
  let last = Promise.resolve()
  return {
    get size() {
      return size
    },
    add(task) {
      size++
      last = last.then(task).finally(() => size--)
    },
    idle: () => last,
  }
}

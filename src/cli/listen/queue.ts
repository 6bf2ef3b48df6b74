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
      // One that fails does not keep the others from running.
      last = last
        .then(task)
        .catch((error) => process.emitWarning(error))
        .finally(() => size--)
    },
    idle: () => last,
  }
}

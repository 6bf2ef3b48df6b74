/** Runs a task at once while fewer than the maximum are running, otherwise after the tasks that wait already. */
export type ConcurrencyLimit = <T>(task: () => Promise<T>) => Promise<T>

export function createConcurrencyLimit(maximum: number): ConcurrencyLimit {
  const queue: (() => void)[] = []
  let running = 0

  return async (task) => {
    if (running < maximum) running += 1
    else await new Promise<void>((resolve) => queue.push(resolve))
    try {
      return await task()
    } finally {
      // The next task takes over this one's place.
      const startNext = queue.shift()
      if (startNext) startNext()
      else running -= 1
    }
  }
}

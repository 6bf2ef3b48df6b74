/** Runs a task immediately if fewer than the maximum are running; otherwise queues it. */
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
      // Passes the slot of the finished task to the next one in the queue.
      const startNext = queue.shift()
      if (startNext) startNext()
      else running -= 1
    }
  }
}

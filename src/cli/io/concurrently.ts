/** Runs a task for each item, at most `concurrency` at the same time. The tasks start in the order of the items. */
export async function forEachConcurrently<T>(
  items: IterableIterator<T>,
  concurrency: number,
  task: (item: T) => Promise<void>,
): Promise<void> {
  // All workers share one iterator, so each item gets one task.
  async function work(): Promise<void> {
    for (const item of items) await task(item)
  }
  await Promise.all(Array.from({ length: concurrency }, work))
}

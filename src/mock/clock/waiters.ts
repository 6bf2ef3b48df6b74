/** A task that is due at a time. */
export interface Waiter {
  /** Milliseconds since 1970. */
  readonly due: number
  /** Ends the wait. */
  finish(): void
}

/** The waiting tasks of a clock that can be advanced. */
export interface Waiters extends Iterable<Waiter> {
  /**
   * Adds a task. The promise resolves when the task is finished, and rejects if the signal is aborted first.
   *
   * @param signal not yet aborted
   */
  add(due: number, signal: AbortSignal | undefined): Promise<void>
  /** Returns the task whose time comes first. */
  first(): Waiter | undefined
}

/** @param onAdded called with each new task; it may return a function to call when the task ends */
export function createWaiters(
  onAdded: (waiter: Waiter) => (() => void) | undefined = () => undefined,
): Waiters {
  const waiting = new Set<Waiter>()
  return {
    add(due, signal) {
      return new Promise((resolve, reject) => {
        const end = (): void => {
          waiting.delete(waiter)
          signal?.removeEventListener('abort', abort)
          onEnded?.()
        }
        const abort = (): void => {
          end()
          reject(signal?.reason)
        }
        const waiter: Waiter = {
          due,
          finish() {
            end()
            resolve()
          },
        }
        waiting.add(waiter)
        signal?.addEventListener('abort', abort, { once: true })
        const onEnded = onAdded(waiter)
      })
    },
    first() {
      let first: Waiter | undefined
      for (const waiter of waiting) if (!first || waiter.due < first.due) first = waiter
      return first
    },
    [Symbol.iterator]: () => waiting.values(),
  }
}

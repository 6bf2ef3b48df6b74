/** Counts what is at work, so that its end can be waited for. */
export interface Work {
  begin(): void
  end(): void
  /** At work until the promise is settled. */
  track<T>(promise: Promise<T>): Promise<T>
  /** Resolves when nothing is at work. */
  idle(): Promise<void>
}

/** Not a set of promises: what is gone would stay in its old tables for a while, with all that it holds. */
export function createWork(): Work {
  let count = 0
  let waiting: (() => void)[] = []

  function begin(): void {
    count += 1
  }

  function end(): void {
    count -= 1
    if (count > 0) return
    for (const resolve of waiting) resolve()
    waiting = []
  }

  return {
    begin,
    end,
    track(promise) {
      begin()
      promise.then(end, end)
      return promise
    },
    async idle() {
      while (count > 0) await new Promise<void>((resolve) => void waiting.push(resolve))
    },
  }
}

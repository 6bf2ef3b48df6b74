/** Milliseconds until a failed call of the store is retried. */
const RETRY_DELAY = 250

/** Options of {@link retryStore}. */
export interface RetryStoreOptions {
  /** Called after each failed call. */
  onError(error: unknown): void
  isClosed(): boolean
  /** Milliseconds for which calls are retried after the inbox was closed. */
  limit: number
  clock(): number
}

/** Calls the store until it succeeds. Resolves with undefined if the inbox is closed and the store keeps failing. */
export async function retryStore<Result>(
  call: () => Promise<Result>,
  { onError, isClosed, limit, clock }: RetryStoreOptions,
): Promise<Result | undefined> {
  const started = clock()
  for (;;) {
    try {
      return await call()
    } catch (error) {
      onError(error)
      if (isClosed() && clock() - started > limit) return undefined
      await new Promise((resolve) => setTimeout(resolve, RETRY_DELAY))
    }
  }
}

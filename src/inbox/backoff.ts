/**
 * Milliseconds until the next attempt: twice as long each time, and by chance up to a half shorter, so that what failed
 * together does not come again together.
 *
 * @param attempt the one that failed, from 1
 */
export function backoff(
  attempt: number,
  { retryDelay, maxRetryDelay }: { retryDelay: number; maxRetryDelay: number },
): number {
  const longest = Math.min(retryDelay * 2 ** (attempt - 1), maxRetryDelay)
  return Math.ceil(longest * (1 - Math.random() / 2))
}

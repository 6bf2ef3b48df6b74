/**
 * Computes the milliseconds until the next attempt. The delay doubles with each attempt. A random part of it, at most
 * half, is subtracted, so that deliveries that failed together are not retried together.
 *
 * @param attempt number of the attempt that failed, from 1
 */
export function backoff(
  attempt: number,
  { retryDelay, maxRetryDelay }: { retryDelay: number; maxRetryDelay: number },
): number {
  const delay = Math.min(retryDelay * 2 ** (attempt - 1), maxRetryDelay)
  return Math.ceil(delay * (1 - Math.random() / 2))
}

/**
 * Runs third-party code (an SDK, an exporter, another observer). Returns undefined if it throws, so that its errors
 * cannot fail a request.
 */
export function ignoreErrors<Result>(run: () => Result): Result | undefined {
  try {
    return run()
  } catch {
    return undefined
  }
}

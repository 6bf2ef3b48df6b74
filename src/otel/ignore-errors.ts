/**
 * Runs foreign code: an SDK, an exporter, another observer. If it throws, its own result is missing, and nothing else
 * fails.
 */
export function ignoreErrors<Result>(run: () => Result): Result | undefined {
  try {
    return run()
  } catch {
    return undefined
  }
}

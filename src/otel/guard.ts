/**
 * Runs one piece of what belongs to others: an SDK, an exporter, another observer. One that is broken costs what it
 * would have made, and nothing else.
 */
export function guard<Result>(run: () => Result): Result | undefined {
  try {
    return run()
  } catch {
    return undefined
  }
}

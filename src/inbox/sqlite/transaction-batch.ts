import { type Database, isStoreError } from './driver.node.ts'

/** Maximum number of operations in one transaction. It is limited because the transaction blocks the event loop. */
const MAX_OPERATIONS = 250

/** Maximum bytes added in one transaction, unless a single delivery is larger. */
const MAX_BYTES = 2 * 1024 ** 2

/** An operation to run in a transaction, usually together with other operations. */
export interface Operation {
  /** Number of bytes that the operation adds to the file. */
  bytes: number
  run(db: Database, requireSpace: () => void): unknown
  /** Receives the result. */
  settle(result: OperationResult): void
  /** Time by `performance.now()` after which the operation no longer waits for a lock. */
  deadline: number
  /** True if its last transaction was rolled back, because an operation failed. */
  isAgain?: boolean
}

export type OperationResult = { value: unknown } | { error: unknown }

/** Takes the operations for the next transaction out of the queue, and returns them. */
export function takeBatch(queue: Operation[]): Operation[] {
  let bytes = 0
  const length = queue.slice(0, MAX_OPERATIONS).findIndex((operation, index) => {
    bytes += operation.bytes
    return index > 0 && bytes > MAX_BYTES
  })
  return queue.splice(0, length === -1 ? MAX_OPERATIONS : length)
}

/**
 * Runs the operations of a transaction. Returns undefined if one fails after it has changed rows: roll back, and run all
 * of them again. They are then in savepoints, which are too slow for the usual case that none fails.
 */
export function runAll(
  db: Database,
  batch: readonly Operation[],
  requireSpace: () => void,
): OperationResult[] | undefined {
  if (batch.some(({ isAgain }) => isAgain))
    return batch.map(({ run }) => runInSavepoint(db, run, requireSpace))
  const results: OperationResult[] = []
  for (const { run } of batch) {
    const before = db.changes()
    try {
      results.push({ value: run(db, requireSpace) })
    } catch (error) {
      if (isStoreError(error)) throw error
      if (db.changes() > before) return undefined
      results.push({ error })
    }
  }
  return results
}

/** Runs an operation in a savepoint: if it fails, only its own changes are rolled back. */
function runInSavepoint(db: Database, run: Operation['run'], requireSpace: () => void): OperationResult {
  db.run('SAVEPOINT job')
  try {
    const value = run(db, requireSpace)
    db.run('RELEASE job')
    return { value }
  } catch (error) {
    if (isStoreError(error)) throw error
    db.run('ROLLBACK TO job')
    db.run('RELEASE job')
    return { error }
  }
}

/** Runs a function on the first call only. If the function throws, every call throws the same error. */
export function memoize(run: () => void): () => void {
  let result: { error?: unknown } | undefined
  return () => {
    if (!result) {
      try {
        run()
        result = {}
      } catch (error) {
        result = { error }
      }
    }
    if ('error' in result) throw result.error
  }
}

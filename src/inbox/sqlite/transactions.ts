import { takeBatch } from '../batches.ts'
import { preload } from '../driver.ts'
import { type Connection, openFile } from './connection.node.ts'
import { createDiskReserve, type DiskReserve } from './disk-reserve.node.ts'
import { type Database, isBusy, isFull, isStoreError, loadDriver, mayBeFull } from './driver.node.ts'

/** Maximum milliseconds that an operation waits for a lock that another process holds. */
const LOCK_TIMEOUT = 2_000

/**
 * Maximum milliseconds between two attempts to get the lock. The pause is random, so that two processes do not collide
 * again.
 */
const MAX_PAUSE = 20

/** Maximum number of operations in one transaction. It is limited because the transaction blocks the event loop. */
const MAX_OPERATIONS = 250

/** Maximum bytes added in one transaction, unless a single delivery is larger. */
const MAX_BYTES = 2 * 1024 ** 2

/** Milliseconds between two checks of the files. The checks detect a deleted file even if nothing is written. */
const CHECK_INTERVAL = 1_000

/** An operation to run in a transaction, usually together with other operations. */
interface Operation {
  /** Number of bytes that the operation adds to the file. */
  bytes: number
  run(db: Database, requireSpace: () => void): unknown
  resolve(value: unknown): void
  reject(error: unknown): void
  /** Time by `performance.now()` after which the operation no longer waits for a lock. */
  deadline: number
  /** True if its last transaction was rolled back, because an operation failed. */
  isAgain?: boolean
}

/** Runs transactions on a file. The file is opened on first use, and reopened after a failure. */
export interface Transactions {
  /** Runs an operation in a transaction, completely or not at all. Resolves when its changes are on disk. */
  write<Result>(run: (db: Database) => Result): Promise<Result>
  /**
   * Like `write`, for an operation that adds `bytes` to the file. The operation must call `requireSpace`, which throws
   * if the disk is too full.
   */
  add<Result>(bytes: number, run: (db: Database, requireSpace: () => void) => Result): Promise<Result>
  /** Runs an operation that only reads. It does not wait for writers. */
  read<Result>(run: (db: Database) => Result): Promise<Result>
  reserve: DiskReserve
  /** Rejects new operations. Resolves when all operations accepted before have ended. */
  close(): Promise<void>
}

export function createTransactions(path: string): Transactions {
  const [reserve, openDriver] = [createDiskReserve(path), preload(loadDriver)]
  let connection: Connection | undefined
  let checking: ReturnType<typeof setInterval> | undefined
  let queue: Operation[] = []
  let flushing = Promise.resolve()
  let isFlushing = false
  const reading = new Set<Promise<unknown>>()
  let isClosed = false

  async function connect(): Promise<Connection> {
    if (connection) return connection
    const open = await openDriver()
    try {
      connection ??= openFile(open, path)
    } catch (error) {
      if (mayBeFull(error)) reserve.release()
      throw error
    }
    checking ??= setInterval(checkFiles, CHECK_INTERVAL).unref()
    return connection
  }

  function checkFiles(): void {
    try {
      connection?.requireFiles()
    } catch {
      disconnect()
    }
  }

  /**
   * Closes the file. The next operation opens the file that is then at the path, because the old file may have been
   * deleted, replaced or repaired.
   */
  function disconnect(): void {
    try {
      if (connection?.close() === false) return
    } catch {}
    connection = undefined
    clearInterval(checking)
    checking = undefined
  }

  function requireOpen(): void {
    if (isClosed) throw new Error('the store is closed')
  }

  async function flush(): Promise<void> {
    for (isFlushing = true; queue.length > 0; ) {
      // Operations of the same event loop tick share one transaction and one write to disk.
      await new Promise((resolve) => setImmediate(resolve))
      try {
        const { begin } = await connect()
        begin()
      } catch (error) {
        rejectQueued(error)
        if (isBusy(error)) await pause()
        else recover(error)
        continue
      }
      commit(takeBatch(queue, MAX_OPERATIONS, MAX_BYTES))
    }
    isFlushing = false
  }

  /**
   * Rejects all queued operations. If another process holds the lock, rejects only operations that are past their
   * deadline.
   */
  function rejectQueued(error: unknown): void {
    const cutoff = isBusy(error) ? performance.now() : Infinity
    const rejected = queue.filter(({ deadline }) => deadline <= cutoff)
    queue = queue.filter(({ deadline }) => deadline > cutoff)
    for (const { reject } of rejected) reject(error)
  }

  function commit(batch: readonly Operation[]): void {
    const bytes = batch.reduce((sum, operation) => sum + operation.bytes, 0)
    const requireSpace = memoize(() => reserve.require(bytes))
    let settles: (() => void)[]
    try {
      const { db, requireFiles } = connection as Connection
      const ended = runAll(db, batch, requireSpace)
      if (!ended) {
        db.run('ROLLBACK')
        queue.unshift(...batch.map((operation) => ({ ...operation, isAgain: true })))
        return
      }
      settles = ended
      db.run('COMMIT')
      requireFiles()
    } catch (error) {
      settles = batch.map((operation) => () => operation.reject(error))
      recover(error)
    }
    for (const settle of settles) settle()
  }

  /** Ends a failed transaction, and frees disk space if the disk may be full. */
  function recover(error: unknown): void {
    if (mayBeFull(error)) reserve.release()
    // The space freed by the reserve may let SQLite checkpoint the log, so that the log's disk space can be reused.
    if (isFull(error) && connection?.checkpoint()) return
    disconnect()
  }

  async function enqueue<Result>(bytes: number, run: Operation['run']): Promise<Result> {
    requireOpen()
    return new Promise((resolve, reject) => {
      const deadline = performance.now() + LOCK_TIMEOUT
      queue.push({ bytes, run, deadline, reject, resolve: resolve as Operation['resolve'] })
      if (!isFlushing) flushing = flush()
    })
  }

  async function readNow<Result>(run: (db: Database) => Result): Promise<Result> {
    for (const deadline = performance.now() + LOCK_TIMEOUT; ; ) {
      requireOpen()
      try {
        const { db, requireFiles } = await connect()
        requireFiles()
        return run(db)
      } catch (error) {
        checkFiles()
        if (!isBusy(error) && isStoreError(error)) disconnect()
        if (!isBusy(error) || performance.now() >= deadline) throw error
      }
      await pause()
    }
  }

  return {
    write: (run) => enqueue(0, run),
    add: enqueue,

    async read(run) {
      const ended = readNow(run)
      reading.add(ended)
      return ended.finally(() => reading.delete(ended))
    },

    reserve,

    async close() {
      isClosed = true
      await Promise.allSettled([flushing, ...reading])
      disconnect()
    },
  }
}

const pause = (): Promise<void> =>
  new Promise((resolve) => setTimeout(resolve, Math.ceil(Math.random() * MAX_PAUSE)))

/**
 * Runs the operations of a transaction, and returns functions that settle them. Returns undefined if one fails after it
 * has changed rows: roll back, and run all of them again. They are then in savepoints, which are too slow for the usual
 * case that none fails.
 */
function runAll(
  db: Database,
  batch: readonly Operation[],
  requireSpace: () => void,
): (() => void)[] | undefined {
  if (batch.some(({ isAgain }) => isAgain))
    return batch.map((operation) => runInSavepoint(db, operation, requireSpace))
  const settles: (() => void)[] = []
  for (const operation of batch) {
    const before = db.changes()
    try {
      const value = operation.run(db, requireSpace)
      settles.push(() => operation.resolve(value))
    } catch (error) {
      if (isStoreError(error)) throw error
      if (db.changes() > before) return undefined
      settles.push(() => operation.reject(error))
    }
  }
  return settles
}

/**
 * Runs an operation in a savepoint: if it fails, only its own changes are rolled back. Returns a function that settles it.
 */
function runInSavepoint(db: Database, operation: Operation, requireSpace: () => void): () => void {
  db.run('SAVEPOINT job')
  try {
    const value = operation.run(db, requireSpace)
    db.run('RELEASE job')
    return () => operation.resolve(value)
  } catch (error) {
    if (isStoreError(error)) throw error
    db.run('ROLLBACK TO job')
    db.run('RELEASE job')
    return () => operation.reject(error)
  }
}

/** Runs a function on the first call only. If the function throws, every call throws the same error. */
function memoize(run: () => void): () => void {
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

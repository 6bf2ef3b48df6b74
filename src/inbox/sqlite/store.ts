import { type Database, isBusy, isOfStore, loadDriver } from './driver.node.ts'
import { type Connection, openFile } from './file.node.ts'

/** Milliseconds that one waits for a lock that another process has. */
const PATIENCE = 2_000

/** Milliseconds between two tries to get it, by chance up to so many: several processes must not step in time. */
const PAUSE = 20

/** In one transaction: the event loop stands still meanwhile. */
const AT_ONCE = 250

/** A file, opened when it is first used, and again after it has failed. */
export interface Store {
  /** Runs something in a transaction, all or nothing of it, and resolves when that is on the disk. */
  write<Result>(work: (db: Database) => Result): Promise<Result>
  /**
   * The same before all that waits, in a transaction of its own, which does not wait for the disk: it survives the end
   * of the process, but not a power failure.
   */
  writeAlone<Result>(work: (db: Database) => Result): Promise<Result>
  /** Runs something that only reads; it waits for no writer. */
  read<Result>(work: (db: Database) => Result): Promise<Result>
  /** Ends what has begun, and takes no more. */
  close(): Promise<void>
}

interface Job {
  work(db: Database): unknown
  /** It shares its transaction with no other job. */
  isAlone: boolean
  /** Tells how it ended. */
  end(outcome: Outcome): void
  /** Until when it waits for a lock. */
  until: number
}

type Outcome = { value: unknown } | { error: unknown }

export function createStore(path: string): Store {
  let connection: Connection | undefined
  let queue: Job[] = []
  let flushing = Promise.resolve()
  let isFlushing = false
  let isClosed = false

  async function connect(): Promise<Connection> {
    if (connection) return connection
    const open = await loadDriver()
    connection ??= openFile(open, path)
    return connection
  }

  /** The next one opens it again: it may have been removed, replaced or repaired. */
  function disconnect(): void {
    try {
      connection?.close()
    } catch {}
    connection = undefined
  }

  function requireOpen(): void {
    if (isClosed) throw new Error('the store is closed')
  }

  async function flush(): Promise<void> {
    for (isFlushing = true; queue.length > 0; ) {
      // What comes in the same turn of the event loop shares one transaction, and one write to the disk.
      await new Promise((resolve) => setImmediate(resolve))
      try {
        begin(await connect(), queue[0]?.isAlone ? 'NORMAL' : 'FULL')
      } catch (error) {
        refuse(error)
        if (isBusy(error)) await pause()
        else disconnect()
        continue
      }
      commit(queue.splice(0, queue[0]?.isAlone ? 1 : AT_ONCE))
    }
    isFlushing = false
  }

  function begin({ db }: Connection, synchronous: 'FULL' | 'NORMAL'): void {
    db.exec(`PRAGMA synchronous = ${synchronous}`)
    db.run('BEGIN IMMEDIATE')
  }

  async function enqueue<Result>(work: (db: Database) => Result, isAlone: boolean): Promise<Result> {
    requireOpen()
    return new Promise<Result>((resolve, reject) => {
      const end = (outcome: Outcome): void => {
        if ('error' in outcome) reject(outcome.error)
        else resolve(outcome.value as Result)
      }
      const job = { work, isAlone, end, until: performance.now() + PATIENCE }
      if (isAlone) queue.unshift(job)
      else queue.push(job)
      if (!isFlushing) flushing = flush()
    })
  }

  /** All that wait, or, where another process has the lock, those that have waited long enough. */
  function refuse(error: unknown): void {
    const least = isBusy(error) ? performance.now() : Infinity
    const refused = queue.filter(({ until }) => until <= least)
    queue = queue.filter(({ until }) => until > least)
    for (const { end } of refused) end({ error })
  }

  function commit(jobs: readonly Job[]): void {
    let outcomes: Outcome[]
    try {
      const { db, requireFile } = connection as Connection
      outcomes = jobs.map(({ work }) => attempt(db, work))
      db.run('COMMIT')
      requireFile()
    } catch (error) {
      outcomes = jobs.map(() => ({ error }))
      disconnect() // which takes back what was not committed
    }
    jobs.forEach(({ end }, index) => {
      end(outcomes[index] as Outcome)
    })
  }

  return {
    write: (work) => enqueue(work, false),
    writeAlone: (work) => enqueue(work, true),

    async read(work) {
      for (const until = performance.now() + PATIENCE; ; ) {
        requireOpen()
        try {
          return work((await connect()).db)
        } catch (error) {
          if (!isBusy(error) && isOfStore(error)) disconnect()
          if (!isBusy(error) || performance.now() >= until) throw error
        }
        await pause()
      }
    },

    async close() {
      isClosed = true
      await flushing
      disconnect()
    },
  }
}

/** What fails by itself takes back what it did, and leaves the others of the transaction alone. */
function attempt(db: Database, work: Job['work']): Outcome {
  db.run('SAVEPOINT job')
  try {
    const value = work(db)
    db.run('RELEASE job')
    return { value }
  } catch (error) {
    if (isOfStore(error)) throw error
    db.run('ROLLBACK TO job')
    db.run('RELEASE job')
    return { error }
  }
}

const pause = (): Promise<void> =>
  new Promise((resolve) => setTimeout(resolve, Math.ceil(Math.random() * PAUSE)))

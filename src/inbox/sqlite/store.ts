import { type Database, isBusy, isFull, isOfStore, loadDriver, mayBeFull } from './driver.node.ts'
import { type Connection, openFile } from './file.node.ts'
import { createReserve, type Reserve } from './reserve.node.ts'
import { attempt, type Job, type Outcome, once, takeTurn } from './turn.ts'

/** Milliseconds that one waits for a lock that another process has. */
const PATIENCE = 2_000

/** Milliseconds between two tries to get it, by chance up to so many: several processes must not step in time. */
const PAUSE = 20

/** Milliseconds between two looks at the files: while nothing is written, nobody would see that one was deleted. */
const LOOK = 1_000

/** A file, opened when it is first used, and again after it has failed. */
export interface Store {
  /** Runs something in a transaction, all or nothing of it, and resolves when that is on the disk. */
  write<Result>(work: (db: Database) => Result): Promise<Result>
  /**
   * The same before all that waits, in a transaction of its own, which does not wait for the disk: it survives the end
   * of the process, but not a power failure.
   */
  writeAlone<Result>(work: (db: Database) => Result): Promise<Result>
  /** The same as `write` for what adds so many bytes. It must call `requireRoom`, which throws if the disk is too full for that. */
  add<Result>(bytes: number, work: (db: Database, requireRoom: () => void) => Result): Promise<Result>
  /** Runs something that only reads; it waits for no writer. */
  read<Result>(work: (db: Database) => Result): Promise<Result>
  reserve: Reserve
  /** Ends what has begun, and takes no more. */
  close(): Promise<void>
}

export function createStore(path: string): Store {
  const reserve = createReserve(path)
  let connection: Connection | undefined
  let looking: ReturnType<typeof setInterval> | undefined
  let queue: Job[] = []
  let flushing = Promise.resolve()
  let isFlushing = false
  const reading = new Set<Promise<unknown>>()
  let isClosed = false

  async function connect(): Promise<Connection> {
    if (connection) return connection
    const open = await loadDriver()
    try {
      connection ??= openFile(open, path)
    } catch (error) {
      if (mayBeFull(error)) reserve.release()
      throw error
    }
    looking ??= setInterval(look, LOOK).unref()
    return connection
  }

  function look(): void {
    try {
      connection?.requireFiles()
    } catch {
      disconnect()
    }
  }

  /** The next one opens it again: it may have been removed, replaced or repaired. */
  function disconnect(): void {
    try {
      if (connection?.close() === false) return
    } catch {}
    connection = undefined
    clearInterval(looking)
    looking = undefined
  }

  function requireOpen(): void {
    if (isClosed) throw new Error('the store is closed')
  }

  async function flush(): Promise<void> {
    for (isFlushing = true; queue.length > 0; ) {
      // What comes in the same turn of the event loop shares one transaction, and one write to the disk.
      await new Promise((resolve) => setImmediate(resolve))
      try {
        const { begin } = await connect()
        begin(queue[0]?.isAlone ? 'NORMAL' : 'FULL')
      } catch (error) {
        refuse(error)
        if (isBusy(error)) await pause()
        else recover(error)
        continue
      }
      commit(takeTurn(queue))
    }
    isFlushing = false
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
    const bytes = jobs.reduce((sum, job) => sum + job.bytes, 0)
    const requireRoom = once(() => reserve.require(bytes))
    try {
      const { db, requireFiles } = connection as Connection
      outcomes = jobs.map(({ work }) => attempt(db, work, requireRoom))
      db.run('COMMIT')
      requireFiles()
    } catch (error) {
      outcomes = jobs.map(() => ({ error }))
      recover(error)
    }
    jobs.forEach(({ end }, index) => {
      end(outcomes[index] as Outcome)
    })
  }

  /** Takes back what was not committed. */
  function recover(error: unknown): void {
    if (mayBeFull(error)) reserve.release()
    // The log has its space on the disk already. When it is moved, with the space of the reserve, it can be used again.
    if (isFull(error) && connection?.checkpoint()) return
    disconnect()
  }

  async function enqueue<Result>(what: Omit<Job, 'end' | 'until'>): Promise<Result> {
    requireOpen()
    return new Promise<Result>((resolve, reject) => {
      const end = (outcome: Outcome): void => {
        if ('error' in outcome) reject(outcome.error)
        else resolve(outcome.value as Result)
      }
      const job = { ...what, end, until: performance.now() + PATIENCE }
      if (job.isAlone) queue.unshift(job)
      else queue.push(job)
      if (!isFlushing) flushing = flush()
    })
  }

  async function readNow<Result>(work: (db: Database) => Result): Promise<Result> {
    for (const until = performance.now() + PATIENCE; ; ) {
      requireOpen()
      try {
        const { db, requireFiles } = await connect()
        requireFiles()
        return work(db)
      } catch (error) {
        look()
        if (!isBusy(error) && isOfStore(error)) disconnect()
        if (!isBusy(error) || performance.now() >= until) throw error
      }
      await pause()
    }
  }

  return {
    write: (work) => enqueue({ work, bytes: 0, isAlone: false }),
    writeAlone: (work) => enqueue({ work, bytes: 0, isAlone: true }),
    add: (bytes, work) => enqueue({ work, bytes, isAlone: false }),

    async read(work) {
      const ended = readNow(work)
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
  new Promise((resolve) => setTimeout(resolve, Math.ceil(Math.random() * PAUSE)))

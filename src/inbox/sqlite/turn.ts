import { type Database, isOfStore } from './driver.node.ts'

/** In one transaction: the event loop stands still meanwhile. */
const AT_ONCE = 250

/** Bytes that are added in one transaction, or a single delivery that is larger. */
const BYTES_AT_ONCE = 2 * 1024 ** 2

/** Something to do in a transaction. */
export interface Job {
  /** That it adds. */
  bytes: number
  work(db: Database, requireRoom: () => void): unknown
  /** It shares its transaction with no other job. */
  isAlone: boolean
  /** Tells how it ended. */
  end(outcome: Outcome): void
  /** Until when it waits for a lock. */
  until: number
}

export type Outcome = { value: unknown } | { error: unknown }

/** Takes the jobs of one transaction out of a queue. */
export function takeTurn(queue: Job[]): Job[] {
  if (queue[0]?.isAlone) return queue.splice(0, 1)
  let bytes = 0
  const length = queue.slice(0, AT_ONCE).findIndex((job, index) => {
    bytes += job.bytes
    return index > 0 && bytes > BYTES_AT_ONCE
  })
  return queue.splice(0, length === -1 ? AT_ONCE : length)
}

/** What fails by itself takes back what it did, and leaves the others of the transaction alone. */
export function attempt(db: Database, work: Job['work'], requireRoom: () => void): Outcome {
  db.run('SAVEPOINT job')
  try {
    const value = work(db, requireRoom)
    db.run('RELEASE job')
    return { value }
  } catch (error) {
    if (isOfStore(error)) throw error
    db.run('ROLLBACK TO job')
    db.run('RELEASE job')
    return { error }
  }
}

/** Does something once; where that fails, each call throws the same. */
export function once(work: () => void): () => void {
  let outcome: { error?: unknown } | undefined
  return () => {
    if (!outcome) {
      try {
        work()
        outcome = {}
      } catch (error) {
        outcome = { error }
      }
    }
    if ('error' in outcome) throw outcome.error
  }
}

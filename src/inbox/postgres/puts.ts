import type { JobInsert } from 'pg-boss'
import { type BatchBounds, createBatches, type Outcomes } from '../batches.ts'
import type { InboxConfig } from '../options.ts'
import { createRoom } from '../room.ts'
import { type Envelope, toEnvelope } from '../stored.ts'
import type { Table } from '../table.ts'
import type { JobsPlace } from './boss.ts'
import { ANSWER_WITHIN, bounded } from './bounded.ts'
import { toId } from './decoding.ts'
import type { JobReading } from './reading.ts'

/** Two statements: the server inserts the jobs of one while the next one is made. A job that is sent has half its time left. */
const BATCHES: BatchBounds = { items: 500, inFlight: 2, patience: ANSWER_WITHIN / 2 }

/** Milliseconds for which a count of what waits is good: PostgreSQL has to look at each of them. */
const COUNT_GOOD = 1_000

/** pg-boss counts the time that something is kept in seconds of 32 bits: sixty-eight years. What is kept how long is ours. */
const FOR_EVER = 2 ** 31 - 1

/** SQLSTATE of a statement that was cancelled because it waited for another one that waited for it. */
const DEADLOCK = '40P01'

const toSeconds = (milliseconds: number): number => Math.ceil(milliseconds / 1_000)

type Kept = 'stored' | 'duplicate'

/** What pg-boss has to know of a delivery: its id is the job's. */
function toJob(envelope: Envelope, { attempts, retryDelay, maxRetryDelay, lease }: InboxConfig): JobInsert {
  return {
    id: envelope.id,
    data: envelope,
    retryLimit: attempts - 1,
    // These count where a process ended during an attempt. After one that failed we say ourselves when the next is due.
    retryBackoff: true,
    retryDelay: toSeconds(retryDelay),
    retryDelayMax: toSeconds(maxRetryDelay),
    heartbeatSeconds: toSeconds(lease),
    expireInSeconds: FOR_EVER,
    retentionSeconds: FOR_EVER,
    deleteAfterSeconds: 0,
  }
}

/** Puts deliveries into a queue of pg-boss, several in one statement. */
export function createPuts(place: JobsPlace, reading: JobReading, config: InboxConfig): Table['put'] {
  const { connection, queue } = place
  const room = createRoom(reading.countWaiting, COUNT_GOOD)
  const add = createBatches(BATCHES, insertApart)

  async function insert(jobs: readonly JobInsert[]): Promise<Outcomes<Kept>> {
    // pg-boss takes an id once in a statement.
    const byId = new Map(jobs.map((job) => [String(job.id), job]))
    // In the same order everywhere: statements that insert the same ids in another order deadlock.
    const sorted = [...byId.keys()].sort().flatMap((id) => byId.get(id) ?? [])
    const [boss, ids] = await connection.use(
      async (boss) => [boss, await boss.insert(queue, sorted, { returnId: true })] as const,
    )
    const stored = new Set(ids?.map(toId))
    const missing = [...byId.keys()].filter((id) => !stored.has(id))
    const lost = new Set(missing.length > 0 ? await reading.missing(missing) : [])
    // pg-boss returns no id either if it has kept nothing: the queue is gone, or another with a policy is there.
    if (lost.size > 0) connection.forget(boss)
    return jobs.map(({ id }) => {
      if (lost.has(String(id)))
        return new Error(`pg-boss has kept nothing: its queue ${queue} was removed or replaced`)
      return stored.delete(String(id)) ? 'stored' : 'duplicate'
    })
  }

  /** A statement of another program can still deadlock with ours. PostgreSQL cancels one of the two. */
  async function insertAgain(jobs: readonly JobInsert[]): Promise<Outcomes<Kept>> {
    try {
      return await insert(jobs)
    } catch (error) {
      if ((error as { code?: unknown }).code !== DEADLOCK) throw error
      return insert(jobs)
    }
  }

  /** PostgreSQL refuses a statement for one bad job: then each half is inserted by itself. */
  async function insertApart(jobs: readonly JobInsert[]): Promise<Outcomes<Kept>> {
    try {
      return await insertAgain(jobs)
    } catch (error) {
      if (jobs.length === 1 || !isOfData(error)) throw error
      const half = Math.ceil(jobs.length / 2)
      const outcomes: (Kept | Error)[] = []
      for (const some of [jobs.slice(0, half), jobs.slice(half)])
        outcomes.push(...(await insertApart(some).catch((cause: Error) => some.map(() => cause))))
      return outcomes
    }
  }

  return async (delivery, { maxPending }) => {
    const envelope = toEnvelope(delivery)
    // What PostgreSQL takes as JSON has neither a NUL nor half of a pair.
    const changeTypes = JSON.stringify(envelope.changeTypes) as never
    if (!(await room.take(maxPending)))
      return (await reading.missing([delivery.id])).length === 0 ? 'duplicate' : 'full'
    let kept: Kept | undefined
    try {
      // It may wait, and then be sent in several statements, each with a time limit of its own.
      kept = await bounded(add(toJob({ ...envelope, changeTypes }, config), envelope.body.length))
      return kept
    } finally {
      room.end(kept === 'stored')
    }
  }
}

/** SQLSTATE classes for which the data is to blame: data exception, integrity constraint, program limit exceeded. */
function isOfData(error: unknown): boolean {
  return /^(22|23|54)/.test(String((error as { code?: unknown }).code))
}

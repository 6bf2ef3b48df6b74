import type { JobInsert } from 'pg-boss'
import { type BatchLimits, type BatchResults, createBatches } from '../batches.ts'
import { createCapacity } from '../capacity.ts'
import type { DeliveriesTable } from '../engine-port.ts'
import type { InboxConfig } from '../inbox-options.ts'
import { toEnvelope } from '../serialize.ts'
import type { JobsLocation } from './connection.ts'
import type { JobReader } from './read.ts'
import { toId, toJob } from './schema.ts'
import { isDataError, isDeadlock } from './sqlstates.ts'
import { CALL_TIMEOUT, withTimeout } from './timeout.ts'

/**
 * With two batches in flight, the server inserts the jobs of one batch while this process builds the next. A job waits
 * for its batch for at most half of the call timeout.
 */
const BATCHES: BatchLimits = { items: 500, inFlight: 2, maxWait: CALL_TIMEOUT / 2 }

/** Milliseconds for which a count of waiting jobs is reused. PostgreSQL has to read every waiting job to count them. */
const COUNT_TTL = 1_000

type PutResult = 'stored' | 'duplicate'

/** Creates a function that puts deliveries into a pg-boss queue, several in one statement. */
export function createPut(
  { connection, queue }: JobsLocation,
  reader: JobReader,
  config: InboxConfig,
): DeliveriesTable['put'] {
  const capacity = createCapacity(reader.countWaiting, COUNT_TTL)
  const add = createBatches(BATCHES, insertBisecting)

  async function insert(jobs: readonly JobInsert[]): Promise<BatchResults<PutResult>> {
    // A pg-boss insert may contain each id only once.
    const byId = new Map(jobs.map((job) => [String(job.id), job]))
    // Sort the ids, because statements that insert the same ids in different orders can deadlock.
    const sorted = [...byId.keys()].sort().flatMap((id) => byId.get(id) ?? [])
    const [boss, ids] = await connection.runInTime(
      async (boss) => [boss, await boss.insert(queue, sorted, { returnId: true })] as const,
    )
    const stored = new Set(ids?.map(toId))
    const missing = [...byId.keys()].filter((id) => !stored.has(id))
    const lost = new Set(missing.length > 0 ? await reader.missing(missing) : [])
    // pg-boss returns no id for a duplicate, but also none if the queue is missing or was replaced by a queue with
    // another policy.
    if (lost.size > 0) connection.discard(boss)
    return jobs.map(({ id }) => {
      if (lost.has(String(id)))
        return new Error(`pg-boss has stored nothing: its queue ${queue} was removed or replaced`)
      return stored.delete(String(id)) ? 'stored' : 'duplicate'
    })
  }

  /** Retries once after a deadlock. Despite the sorted ids, statements of other programs can still cause one. */
  async function insertWithRetry(jobs: readonly JobInsert[]): Promise<BatchResults<PutResult>> {
    try {
      return await insert(jobs)
    } catch (error) {
      if (!isDeadlock(error)) throw error
      return insert(jobs)
    }
  }

  /** Splits the batch if PostgreSQL rejects its data, so that one invalid job does not fail the others. */
  async function insertBisecting(jobs: readonly JobInsert[]): Promise<BatchResults<PutResult>> {
    try {
      return await insertWithRetry(jobs)
    } catch (error) {
      if (jobs.length === 1 || !isDataError(error)) throw error
      const half = Math.ceil(jobs.length / 2)
      const results: (PutResult | Error)[] = []
      for (const part of [jobs.slice(0, half), jobs.slice(half)])
        results.push(...(await insertBisecting(part).catch((cause: Error) => part.map(() => cause))))
      return results
    }
  }

  return async (delivery, { maxPending }) => {
    const envelope = toEnvelope(delivery)
    // Encode the change types as JSON here, although pg-boss encodes them again. The second encoding doubles the
    // backslashes of `\u` escapes; PostgreSQL would reject the plain escapes of NUL and unpaired surrogates.
    const changeTypes = JSON.stringify(envelope.changeTypes) as never
    if (!(await capacity.acquire(maxPending)))
      return (await reader.missing([delivery.id])).length === 0 ? 'duplicate' : 'full'
    let result: PutResult | undefined
    try {
      // Set an overall time limit: the job may wait for its batch and then be sent in several statements, each with its
      // own limit.
      result = await withTimeout(add(toJob({ ...envelope, changeTypes }, config), envelope.body.length))
      return result
    } finally {
      capacity.release(result === 'stored')
    }
  }
}

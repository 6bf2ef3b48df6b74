import type { AttemptEnd, DeliveriesTable } from '../engine-port.ts'
import type { InboxConfig } from '../inbox-options.ts'
import type { JobsLocation } from './connection.ts'
import { readDelivery } from './decode.ts'
import { createPostgresGenerations } from './generations.ts'
import { createPut } from './put.ts'
import { createJobReader } from './read.ts'
import { isId, toId } from './schema.ts'
import { createTakeJob } from './take.ts'
import { type ChangedJobs, createJobWriter, type FailedAttempt, type JobAttempt } from './write.ts'

/** Implements {@link DeliveriesTable} on a pg-boss queue. Times come from the PostgreSQL server's clock. */
export function createPostgresTable(location: JobsLocation, config: InboxConfig): DeliveriesTable {
  const { connection, queue } = location
  const reader = createJobReader(location)
  const writer = createJobWriter(location)
  const takeJob = createTakeJob(location)
  /**
   * Number of the attempt that this process is running, from 0, by delivery id. Results are recorded only for this
   * attempt.
   */
  const taken = new Map<string, number>()

  /** Forgets an attempt, unless this process has taken the delivery again in the meantime. */
  function forget(id: string, retryCount: number): void {
    if (taken.get(id) === retryCount) taken.delete(id)
  }

  /**
   * Turns an unreadable job into a dead letter. If that fails, pg-boss makes the job due again when its heartbeat
   * expires.
   */
  async function bury(attempt: JobAttempt): Promise<void> {
    const text = `the job ${attempt.id} in the queue ${queue} cannot be read: its data is not a delivery`
    config.notify('trouble', { error: new Error(text) })
    await writer.bury(attempt, text).catch((error) => config.notify('trouble', { error }))
  }

  return {
    generations: createPostgresGenerations(location),
    put: createPut(location, reader, config),

    async take({ suspects }) {
      const job = await takeJob({ suspects })
      if (!job) return {}
      const { id, data, retryCount, retryLimit, isSuspect } = job
      const delivery = readDelivery(id, data)
      if (!delivery) {
        void bury({ id, retryCount })
        return { wait: 0 }
      }
      taken.set(id, retryCount)
      return { taken: { delivery, attempt: retryCount + 1, attempts: retryLimit + 1, isSuspect } }
    },

    async renew(_, ids) {
      const jobs = ids.flatMap((id) => {
        const retryCount = taken.get(id)
        return retryCount === undefined ? [] : { id, retryCount }
      })
      if (jobs.length === 0) return []
      const { settled } = await connection.runInTime(
        async (boss) => (await boss.touch(queue, jobs)) as unknown as ChangedJobs,
      )
      const kept = new Set(settled.map(toId))
      for (const { id, retryCount } of jobs) if (!kept.has(id)) forget(id, retryCount)
      return ids.filter((id) => kept.has(id))
    },

    async endAttempts(_, ends) {
      const held = ends.flatMap(({ id, end }) => {
        const retryCount = taken.get(id)
        return retryCount === undefined ? [] : { id, retryCount, end }
      })
      const [first] = held
      if (!first) return []
      const recorded =
        first.end.state === 'done'
          ? await writer.complete(held)
          : await writer.fail(held.map(toFailed), first.end.error)
      for (const { id, retryCount } of held) forget(id, retryCount)
      return recorded.map(toId)
    },

    counts: reader.counts,
    list: reader.list,
    async get(id) {
      if (!isId(id)) return undefined
      return reader.get(id)
    },
    retry: async (id) => isId(id) && writer.retry(id),
    discard: async (id) => isId(id) && writer.discard(id),
    purge: (state, before, limit) => writer.purge(state, Date.now() - before, limit),
    close: () => connection.close(),
  }
}

const toFailed = ({ id, retryCount, end }: JobAttempt & { end: AttemptEnd }): FailedAttempt => ({
  id,
  retryCount,
  milliseconds: end.state === 'waiting' ? end.delay : 0,
})

import type { InboxConfig } from '../options.ts'
import type { Table } from '../table.ts'
import type { JobsPlace } from './boss.ts'
import { type Changed, changeJobs, type JobAttempt } from './changing.ts'
import { claimJob } from './claiming.ts'
import { readDelivery, toId } from './decoding.ts'
import { createPuts } from './puts.ts'
import { isId, readJobs } from './reading.ts'

/** The jobs of a queue of pg-boss, as the table of an inbox. Due times and ends are by the clock of the server. */
export function createJobTable(place: JobsPlace, config: InboxConfig): Table {
  const { connection, queue } = place
  const reading = readJobs(place)
  const changing = changeJobs(place)
  const take = claimJob(place)
  /** Which attempt of each delivery is ours, so that an end counts for no other attempt. Only one worker has it. */
  const claims = new Map<string, number>()

  /** What was claimed anew meanwhile is another attempt. */
  function forgetClaim(id: string, retryCount: number): void {
    if (claims.get(id) === retryCount) claims.delete(id)
  }

  /** Nobody waits for it. Where it fails, the job is found again when its heartbeat has lapsed. */
  async function bury(attempt: JobAttempt): Promise<void> {
    const text = `the job ${attempt.id} in the queue ${queue} cannot be read: its data is not a delivery`
    config.tell('trouble', { error: new Error(text) })
    await changing.bury(attempt, text).catch((error) => config.tell('trouble', { error }))
  }

  async function complete(attempt: JobAttempt): Promise<boolean> {
    const ended = await connection.use((boss) => boss.complete(queue, attempt))
    return (ended as unknown as Changed).affected > 0 || changing.completeWaiting(attempt)
  }

  return {
    put: createPuts(place, reading, config),

    async claim({ suspects }) {
      const job = await take({ suspects })
      if (!job) return {}
      const { id, data, retryCount, retryLimit, isSuspect } = job
      const delivery = readDelivery(id, data)
      if (!delivery) {
        void bury({ id, retryCount })
        return { wait: 0 }
      }
      claims.set(id, retryCount)
      return { claimed: { delivery, attempt: retryCount + 1, attempts: retryLimit + 1, isSuspect } }
    },

    async renew(_, ids) {
      const jobs = ids.flatMap((id) => {
        const retryCount = claims.get(id)
        return retryCount === undefined ? [] : { id, retryCount }
      })
      if (jobs.length === 0) return []
      const { settled } = await connection.use(
        async (boss) => (await boss.touch(queue, jobs)) as unknown as Changed,
      )
      const kept = new Set(settled.map(toId))
      for (const { id, retryCount } of jobs) if (!kept.has(id)) forgetClaim(id, retryCount)
      return ids.filter((id) => kept.has(id))
    },

    async settle(_, id, end) {
      const retryCount = claims.get(id)
      if (retryCount === undefined) return false
      const attempt = { id, retryCount }
      const isSettled =
        end.state === 'done'
          ? await complete(attempt)
          : await changing.fail(attempt, end.error, end.state === 'dead' ? 0 : end.delay)
      forgetClaim(id, retryCount)
      return isSettled
    },

    counts: reading.counts,
    list: reading.list,
    async get(id) {
      if (!isId(id)) return undefined
      return reading.get(id)
    },
    retry: async (id) => isId(id) && changing.retry(id),
    discard: async (id) => isId(id) && changing.discard(id),
    purge: (state, before, limit) => changing.purge(state, Date.now() - before, limit),
    close: () => connection.close(),
  }
}

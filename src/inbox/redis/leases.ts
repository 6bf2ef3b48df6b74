import type { Connection } from './connection.ts'
import { ATTEMPTS_FIELD, type DeliveryJob, STALLED_FIELD } from './jobs.ts'
import type { OpenedQueue } from './queue.ts'

/** What BullMQ does not say or do about attempts whose lease ran out. */
export interface Leases {
  /** Counts an attempt that is about to begin, up to `most`; resolves with its number. */
  count(job: DeliveryJob, most: number): Promise<number>
  /** Notes that an attempt of a suspect ended by itself: it is no suspect any more. */
  clear(job: DeliveryJob): Promise<void>
  /** Whether another worker has, or had, a job whose lease has run out. */
  isTaken(jobId: string, workerId: string): Promise<boolean>
}

export function createLeases(run: Connection<OpenedQueue>['run'], onError: (error: unknown) => void): Leases {
  return {
    async count(job, most) {
      try {
        return await run(async ({ queue, client }) => {
          const key = queue.toKey(job.id ?? '')
          const attempt = await client.hincrby(key, ATTEMPTS_FIELD, 1)
          if (attempt > most) await client.hincrby(key, ATTEMPTS_FIELD, -1)
          return attempt
        })
      } catch (error) {
        onError(error)
        throw error
      }
    },

    async clear(job) {
      const cleared = run(({ queue, client }) => client.hset(queue.toKey(job.id ?? ''), STALLED_FIELD, 0))
      await cleared.catch(onError)
    },

    async isTaken(jobId, workerId) {
      const taken = run(async ({ queue, client }) => {
        // Whoever has a job holds its lock, with a token that begins with the id of the worker.
        const token = await client.get(`${queue.toKey(jobId)}:lock`)
        if (token !== null) return !token.startsWith(`${workerId}:`)
        return !['active', 'waiting'].includes(await queue.getJobState(jobId))
      })
      // Where Redis is not there, the next renewal asks again.
      return taken.catch(() => false)
    },
  }
}

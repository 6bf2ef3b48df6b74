import type { Connection } from './connection.ts'
import { type DeliveryJob, STARTED_FIELD } from './jobs.ts'
import type { OpenedQueue } from './queue.ts'

/** What BullMQ does not say or do about a job whose lease ran out while its process lives. */
export interface Leases {
  /** BullMQ counts each time that a worker takes a job. Where Redis does not hear it, that one counts. */
  uncount(job: DeliveryJob): Promise<void>
  /** Whether another worker has, or had, a job whose lease has run out. */
  isTaken(jobId: string, workerId: string): Promise<boolean>
}

export function createLeases(run: Connection<OpenedQueue>['run'], onError: (error: unknown) => void): Leases {
  return {
    async uncount(job) {
      const less = run(({ queue, client }) => client.hincrby(queue.toKey(job.id ?? ''), STARTED_FIELD, -1))
      await less.catch(onError)
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

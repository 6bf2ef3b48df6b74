import type { Connection } from './connection.ts'
import { ATTEMPTS_FIELD, DATA_FIELD, type DeliveryJob, STALLED_FIELD } from './jobs.ts'
import type { OpenedQueue } from './queue.ts'

/** What BullMQ does not say or do about attempts whose lease ran out. */
export interface Leases {
  /** Counts an attempt that is about to begin, up to `most`. Resolves with its number, or 0 if the job no longer exists. */
  count(job: DeliveryJob, most: number): Promise<number>
  /** Notes that an attempt ended by itself: it is no suspect any more. What was counted before, BullMQ counts now. */
  clear(job: DeliveryJob, isCounted: boolean): Promise<void>
  /** Whether another worker has, or had, a job whose lease has run out. */
  isTaken(jobId: string, workerId: string): Promise<boolean>
}

/** Both scripts write to an existing job only: BullMQ would take a hash of ours for a job, and never add that job again. */
const COUNT = `if redis.call('HEXISTS', KEYS[1], '${DATA_FIELD}') == 0 then return 0 end
local attempt = redis.call('HINCRBY', KEYS[1], '${ATTEMPTS_FIELD}', 1)
if attempt > tonumber(ARGV[1]) then redis.call('HINCRBY', KEYS[1], '${ATTEMPTS_FIELD}', -1) end
return attempt`

const CLEAR = `if redis.call('HEXISTS', KEYS[1], '${DATA_FIELD}') == 0 then return end
redis.call('HSET', KEYS[1], '${STALLED_FIELD}', 0)
redis.call('HINCRBY', KEYS[1], '${ATTEMPTS_FIELD}', ARGV[1])`

export function createLeases(run: Connection<OpenedQueue>['run'], onError: (error: unknown) => void): Leases {
  return {
    async count(job, most) {
      try {
        return await run(async ({ queue, client }) => {
          const attempt = await client.eval(COUNT, 1, queue.toKey(job.id ?? ''), most)
          return Number(attempt)
        })
      } catch (error) {
        onError(error)
        throw error
      }
    },

    async clear(job, isCounted) {
      const cleared = run(({ queue, client }) =>
        client.eval(CLEAR, 1, queue.toKey(job.id ?? ''), isCounted ? -1 : 0),
      )
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

import type { Connection } from './connection.ts'
import type { OpenedQueue } from './queue.ts'
import { ATTEMPTS_FIELD, DATA_FIELD, type DeliveryJob, STALLED_FIELD } from './schema.ts'

/** Functions that BullMQ lacks, for attempts whose lease expired. */
export interface ExpiredLeases {
  /**
   * Counts an attempt that is about to begin. The stored count never exceeds `max`. Resolves with the number of the
   * attempt, which is `max` + 1 if none is left, or with 0 if the job no longer exists.
   */
  countAttempt(job: DeliveryJob, max: number): Promise<number>
  /**
   * Records that an attempt ended without terminating its process: the delivery is no longer a suspect. If the attempt
   * was counted before it began, subtracts that count, because BullMQ counts the attempt when it ends.
   */
  clearSuspect(job: DeliveryJob, isCounted: boolean): Promise<void>
  /**
   * Resolves with true if another worker has taken a job whose lease expired, even if that worker has already ended the
   * job.
   */
  isTaken(jobId: string, workerId: string): Promise<boolean>
}

/**
 * The scripts `COUNT` and `CLEAR` write only to an existing job. BullMQ would mistake a new hash for a job, and would
 * never add the real job.
 */
const COUNT = `if redis.call('HEXISTS', KEYS[1], '${DATA_FIELD}') == 0 then return 0 end
local attempt = redis.call('HINCRBY', KEYS[1], '${ATTEMPTS_FIELD}', 1)
if attempt > tonumber(ARGV[1]) then redis.call('HINCRBY', KEYS[1], '${ATTEMPTS_FIELD}', -1) end
return attempt`

const CLEAR = `if redis.call('HEXISTS', KEYS[1], '${DATA_FIELD}') == 0 then return end
redis.call('HSET', KEYS[1], '${STALLED_FIELD}', 0)
redis.call('HINCRBY', KEYS[1], '${ATTEMPTS_FIELD}', ARGV[1])`

export function createExpiredLeases(
  run: Connection<OpenedQueue>['run'],
  onError: (error: unknown) => void,
): ExpiredLeases {
  return {
    async countAttempt(job, max) {
      try {
        return await run(async ({ queue, client }) => {
          const attempt = await client.eval(COUNT, 1, queue.toKey(job.id ?? ''), max)
          return Number(attempt)
        })
      } catch (error) {
        onError(error)
        throw error
      }
    },

    async clearSuspect(job, isCounted) {
      const cleared = run(({ queue, client }) =>
        client.eval(CLEAR, 1, queue.toKey(job.id ?? ''), isCounted ? -1 : 0),
      )
      await cleared.catch(onError)
    },

    async isTaken(jobId, workerId) {
      const taken = run(async ({ queue, client }) => {
        // The lock of an active job contains a token that begins with the id of the job's worker.
        const token = await client.get(`${queue.toKey(jobId)}:lock`)
        if (token !== null) return !token.startsWith(`${workerId}:`)
        return !['active', 'waiting'].includes(await queue.getJobState(jobId))
      })
      // If Redis is unreachable, this is checked again after the next failed renewal.
      return taken.catch(() => false)
    },
  }
}

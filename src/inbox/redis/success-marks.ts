import type { Connection } from './connection.ts'
import type { OpenedQueue } from './queue.ts'
import { DATA_FIELD, type DeliveryJob } from './schema.ts'

/** Field that we add to the hash of a job after a call of the handlers for several jobs has succeeded. */
const SUCCESS_FIELD = 'geohook-success'

/** Milliseconds until `mark` retries after an error of Redis. */
const RETRY_DELAY = 250

/** Maximum milliseconds for which `mark` retries after `close`. */
const CLOSE_TIMEOUT = 3_000

/** Sets the field in the jobs in `KEYS`. BullMQ would mistake a new hash for a job. */
const MARK = `for _, key in ipairs(KEYS) do
  if redis.call('HEXISTS', key, '${DATA_FIELD}') == 1 then redis.call('HSET', key, '${SUCCESS_FIELD}', 1) end
end`

/**
 * Records that handlers have succeeded for several jobs, for all of them at once: BullMQ can complete only one job at a
 * time. If a process ends after it has completed some of the jobs, the others are completed by their marks.
 */
export interface SuccessMarks {
  /** Marks jobs in one step. Retries while Redis fails. */
  mark(jobs: readonly DeliveryJob[]): Promise<void>
  isMarked(job: DeliveryJob): Promise<boolean>
  /** Limits the time for which `mark` retries. */
  close(): void
}

export function createSuccessMarks(
  run: Connection<OpenedQueue>['run'],
  onError: (error: unknown) => void,
): SuccessMarks {
  let closed = false

  return {
    async mark(jobs) {
      if (jobs.length === 0) return
      const started = performance.now()
      for (;;) {
        try {
          await run(({ queue, client }) =>
            client.eval(MARK, jobs.length, ...jobs.map(({ id = '' }) => queue.toKey(id))),
          )
          return
        } catch (error) {
          onError(error)
          if (closed && performance.now() - started > CLOSE_TIMEOUT) return
          await new Promise((resolve) => setTimeout(resolve, RETRY_DELAY))
        }
      }
    },

    isMarked: ({ id = '' }) =>
      run(async ({ queue, client }) => (await client.hexists(queue.toKey(id), SUCCESS_FIELD)) > 0),

    close() {
      closed = true
    },
  }
}

import { lostLease } from '../lost-lease.ts'
import { retryStore } from '../retry-store.ts'
import type { Connection } from './connection.ts'
import type { OpenedQueue } from './queue.ts'
import { type DeliveryJob, STARTS_FIELD } from './schema.ts'

/** Maximum milliseconds for which `keepHeld` retries after `close`. */
const CLOSE_TIMEOUT = 3_000

/** A job that this process has taken. */
export interface HeldJob {
  job: DeliveryJob
  /** Aborted if another process has taken the job. */
  stop: AbortController
}

/** The locks that BullMQ sets on jobs in progress. */
export interface Locks {
  /** True if the lock of a job may have expired since the worker took the job. */
  isOld(job: DeliveryJob): boolean
  /** Extends locks, and aborts the jobs whose locks are lost, for example because the event loop was blocked. */
  keepHeld(jobs: readonly HeldJob[]): Promise<void>
  /** Limits the time for which `keepHeld` retries. */
  close(): void
}

/**
 * Extends the locks of this worker, whose id is the start of its tokens. Sets an expired lock again if the job is still
 * active, and its count of starts shows that no worker has taken it since.
 */
const EXTEND = `local held = {}
for i = 3, #KEYS, 2 do
  local j = (i - 3) / 2 * 3 + 3
  local job, token, starts = ARGV[j], ARGV[j + 1], ARGV[j + 2]
  local lock = redis.call('GET', KEYS[i])
  if lock and string.sub(lock, 1, #ARGV[2]) == ARGV[2] then token = lock
  elseif lock or redis.call('HGET', KEYS[i + 1], '${STARTS_FIELD}') ~= starts or not redis.call('LPOS', KEYS[1], job) then
    token = nil
  end
  if token then
    redis.call('SET', KEYS[i], token, 'PX', ARGV[1])
    redis.call('SREM', KEYS[2], job)
    table.insert(held, job)
  end
end
return held`

export function createLocks(
  run: Connection<OpenedQueue>['run'],
  lease: number,
  onError: (error: unknown) => void,
): Locks {
  let closed = false
  const retries = { onError, isClosed: () => closed, limit: CLOSE_TIMEOUT, clock: Date.now }

  const extend = (jobs: readonly HeldJob[]): Promise<unknown> =>
    run(({ queue, client }) => {
      const [
        {
          job: { token: first = '' },
        } = { job: {} },
      ] = jobs
      const workerId = first.slice(0, first.lastIndexOf(':') + 1)
      const jobKeys = jobs.map(({ job }) => queue.toKey(job.id ?? '')).flatMap((key) => [`${key}:lock`, key])
      const keys = [queue.toKey('active'), queue.toKey('stalled'), ...jobKeys]
      const values = jobs.flatMap(({ job: { id = '', token = '', attemptsStarted } }) => [
        id,
        token,
        attemptsStarted,
      ])
      return client.eval(EXTEND, keys.length, ...keys, lease, workerId, ...values)
    })

  return {
    // BullMQ stores the time at which the worker asked for the job.
    isOld: ({ processedOn = Number.NaN }) => Math.abs(Date.now() - processedOn) > lease / 2,

    async keepHeld(jobs) {
      let askedAt: number
      let held: unknown
      do {
        askedAt = Date.now()
        held = await retryStore(() => extend(jobs), retries)
      } while (held && Math.abs(Date.now() - askedAt) > lease)
      const ids = new Set(Array.isArray(held) ? held : [])
      const error = held ? lostLease() : new Error('the lease could not be renewed')
      for (const { job, stop } of jobs) if (!ids.has(job.id)) stop.abort(error)
    },

    close() {
      closed = true
    },
  }
}

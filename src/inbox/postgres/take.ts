import type { TakeRequest } from '../engine-port.ts'
import type { JobsLocation } from './connection.ts'
import { toId } from './schema.ts'

/** A job that a worker took. */
export interface TakenJob {
  id: string
  data: unknown
  /** Number of the attempt, from 0. */
  retryCount: number
  retryLimit: number
  isSuspect: boolean
}

/**
 * SQL condition for a job whose heartbeat expired. pg-boss stores the message `job heartbeat timeout` in such a job.
 */
const IS_SUSPECT = `(job.output->'value'->>'message' is not distinct from 'job heartbeat timeout')`

/**
 * Creates a function that takes a job. pg-boss's own `fetch` cannot skip suspects, and its commit waits for the disk.
 * The update below need not reach the disk: if a server crash loses it, the job is waiting again.
 */
export function createTakeJob({
  connection,
  schema,
  queue,
}: JobsLocation): (request: Pick<TakeRequest, 'suspects'>) => Promise<TakenJob | undefined> {
  const text = `
    update ${schema}.job job
    set state = 'active', started_on = now(), heartbeat_on = now(),
      retry_count = case when started_on is null then retry_count else retry_count + 1 end
    where name = $1 and id = (
      select id from ${schema}.job job
      where name = $1 and state < 'active' and not blocked and start_after <= now() and ($2 or not ${IS_SUSPECT})
        and (select set_config('synchronous_commit', 'off', true)) is not null
      order by priority desc, created_on
      limit 1
      for update skip locked
    )
    returning id, data, retry_count as "retryCount", retry_limit as "retryLimit", ${IS_SUSPECT} as "isSuspect"`

  return async ({ suspects }) => {
    // Let handlers that begin in this event loop tick run first. If they terminate the process, no further job is
    // taken.
    await new Promise((resolve) => setImmediate(resolve))
    // Set no time limit: a job that the server returns after the limit would stay active until its lease expires.
    const { rows } = await connection.run((boss) => boss.getDb().executeSql(text, [queue, suspects]))
    const [job] = rows as TakenJob[]
    return job && { ...job, id: toId(job.id) }
  }
}

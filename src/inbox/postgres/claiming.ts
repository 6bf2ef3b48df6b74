import type { Claim } from '../table.ts'
import type { JobsPlace } from './boss.ts'
import { toId } from './decoding.ts'

/** A job that was taken. */
export interface Taken {
  id: string
  data: unknown
  /** From 0, as pg-boss counts. */
  retryCount: number
  retryLimit: number
  isSuspect: boolean
}

/** What pg-boss writes when the heartbeat of a job has lapsed. */
const IS_SUSPECT = `(job.output->'value'->>'message' is not distinct from 'job heartbeat timeout')`

/**
 * Takes a job as `fetch` of pg-boss does, which can neither leave suspects out nor leave the disk alone. A claim need
 * not be on the disk: if the server crashes, the job waits again, and what ends the job later is written through.
 */
export function claimJob({
  connection,
  schema,
  queue,
}: JobsPlace): (claim: Pick<Claim, 'suspects'>) => Promise<Taken | undefined> {
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
    // Handlers that began in this turn of the event loop have run as far as they could. If they ended the process,
    // the next job must not have been taken.
    await new Promise((resolve) => setImmediate(resolve))
    // No time limit of ours: a job that arrives after it would stay active until its lease has run out.
    const { rows } = await connection.run((boss) => boss.getDb().executeSql(text, [queue, suspects]))
    const [job] = rows as Taken[]
    return job && { ...job, id: toId(job.id) }
  }
}

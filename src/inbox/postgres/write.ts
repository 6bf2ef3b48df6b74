import type { Db, PgBoss } from 'pg-boss'
import type { JobsLocation } from './connection.ts'
import { jobStatesOf, MAX_INTERVAL } from './schema.ts'

/** Result of pg-boss calls that change jobs. pg-boss returns these members, but its types omit them. */
export interface ChangedJobs {
  affected: number
  settled: string[]
}

/** Identifies one attempt of a job, so that its result is not recorded for a later attempt. */
export interface JobAttempt {
  id: string
  /** Number of the attempt, from 0. */
  retryCount: number
}

/** Changes to jobs that no single call of pg-boss can make. */
export interface JobWriter {
  /** Records that an attempt failed. If another attempt follows, it is due after `milliseconds`. */
  fail(attempt: JobAttempt, error: string, milliseconds: number): Promise<boolean>
  /**
   * Records the success of an attempt whose job is waiting again. This happens if the lease expired, or if a server
   * crash lost the update that made the job active.
   */
  completeWaiting(attempt: JobAttempt): Promise<boolean>
  /** Turns an unreadable job into a dead letter. */
  bury(attempt: JobAttempt, error: string): Promise<void>
  retry(id: string): Promise<boolean>
  discard(id: string): Promise<boolean>
  /** Removes at most `limit` jobs that ended at least `milliseconds` ago. Returns the number of jobs removed. */
  purge(state: 'done' | 'dead', milliseconds: number, limit: number): Promise<number>
}

export function createJobWriter({ connection, schema, queue }: JobsLocation): JobWriter {
  const { runInTime } = connection

  /** @returns the number of rows that the statement returned */
  const change = (text: string, ...values: unknown[]): Promise<number> =>
    runInTime(async (boss) => (await boss.getDb().executeSql(text, [queue, ...values])).rows.length)

  const transact = <T>(work: (boss: PgBoss, db: Db) => Promise<T>): Promise<T> =>
    runInTime(async (boss) => {
      const transaction = await boss.getDb().beginTransaction?.()
      if (!transaction) throw new Error('pg-boss has no transactions')
      try {
        const result = await work(boss, transaction.db)
        await transaction.commit()
        return result
      } catch (error) {
        await transaction.rollback()
        throw error
      }
    })

  return {
    // Uses one transaction, so that pg-boss's own retry delay is never visible to other workers.
    fail: (attempt, error, milliseconds) =>
      transact(async (boss, db) => {
        const failed = await boss.fail(queue, attempt, { error }, { db })
        if ((failed as unknown as ChangedJobs).affected === 0) return false
        const startAfter = Math.max(0, milliseconds) / 1_000
        await boss.update(queue, undefined, { id: attempt.id, startAfter, db })
        return true
      }),

    completeWaiting: async ({ id, retryCount }) =>
      (await change(
        `update ${schema}.job set state = 'completed', completed_on = now()
        where name = $1 and id = $2 and state < 'active' and retry_count = $3 returning 1`,
        ...[id, retryCount],
      )) > 0,

    async bury({ id, retryCount }, error) {
      await change(
        `update ${schema}.job set state = 'failed', completed_on = now(), output = $4
        where name = $1 and id = $2 and state = 'active' and retry_count = $3`,
        ...[id, retryCount, JSON.stringify({ error })],
      )
    },

    async retry(id) {
      const { updated } = await runInTime((boss) => boss.update(queue, undefined, { id, startAfter: 0 }))
      if (updated > 0) return true
      // pg-boss's own `retry()` would allow only one more attempt. This gives the job its full number of attempts again.
      // `created_on` does not change, so the job keeps its place in the queue.
      const retried = await change(
        `update ${schema}.job set state = 'created', start_after = now(), retry_count = 0, started_on = null,
          completed_on = null, heartbeat_on = null
        where name = $1 and id = $2 and state::text = any($3) returning 1`,
        ...[id, jobStatesOf('dead')],
      )
      return retried > 0
    },

    discard: async (id) =>
      (await change(
        `delete from ${schema}.job where name = $1 and id = $2 and state::text = any($3) returning 1`,
        ...[id, jobStatesOf('waiting', 'dead')],
      )) > 0,

    purge: (state, milliseconds, limit) =>
      change(
        `delete from ${schema}.job where name = $1 and id in (
          select id from ${schema}.job where name = $1 and state::text = any($2)
            and completed_on <= now() - $3::float8 * interval '1 ms'
          limit $4 for update skip locked
        ) returning 1`,
        ...[jobStatesOf(state), Math.min(MAX_INTERVAL, Math.max(0, milliseconds)), limit],
      ),
  }
}

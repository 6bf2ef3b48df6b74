import type { Db, PgBoss } from 'pg-boss'
import type { JobsLocation } from './connection.ts'
import { jobStatesOf, MAX_INTERVAL, toId } from './schema.ts'

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

/** An attempt that failed. If another attempt follows, it is due after `milliseconds`. */
export interface FailedAttempt extends JobAttempt {
  milliseconds: number
}

/** Changes to jobs that no single call of pg-boss can make. */
export interface JobWriter {
  /**
   * Records the success of attempts in one transaction. Also completes jobs that are waiting again, because their lease
   * expired or a server crash lost the update that made them active.
   *
   * @returns the UUIDs of the completed jobs
   */
  complete(attempts: readonly JobAttempt[]): Promise<string[]>
  /** Records that attempts failed, in one transaction. Returns the UUIDs of the jobs. */
  fail(attempts: readonly FailedAttempt[], error: string): Promise<string[]>
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

  async function completeActive(boss: PgBoss, attempts: readonly JobAttempt[], db?: Db): Promise<string[]> {
    const pairs = attempts.map(({ id, retryCount }) => ({ id, retryCount }))
    const changed = await boss.complete(queue, pairs, undefined, db ? { db } : undefined)
    return (changed as unknown as ChangedJobs).settled
  }

  async function completeWaiting(db: Db, attempts: readonly JobAttempt[]): Promise<string[]> {
    const { rows } = await db.executeSql(
      `update ${schema}.job job set state = 'completed', completed_on = now()
      from unnest($2::uuid[], $3::int[]) as attempt (id, retry_count)
      where job.name = $1 and job.id = attempt.id and job.state < 'active' and job.retry_count = attempt.retry_count
      returning job.id`,
      [queue, attempts.map(({ id }) => id), attempts.map(({ retryCount }) => retryCount)],
    )
    return (rows as { id: string }[]).map(({ id }) => id)
  }

  return {
    async complete(attempts) {
      const [first, ...others] = attempts.map(({ id, retryCount }) => ({ id, retryCount }))
      if (first && others.length === 0) {
        // One job needs no transaction, and usually only one statement.
        const completed = await runInTime((boss) => completeActive(boss, [first]))
        return completed.length > 0 ? completed : runInTime((boss) => completeWaiting(boss.getDb(), [first]))
      }
      return transact(async (boss, db) => {
        const completed = await completeActive(boss, attempts, db)
        if (completed.length === attempts.length) return completed
        return [...completed, ...(await completeWaiting(db, attempts))]
      })
    },

    // Uses one transaction, so that pg-boss's own retry delay is never visible to other workers.
    fail: (attempts, error) =>
      transact(async (boss, db) => {
        const pairs = attempts.map(({ id, retryCount }) => ({ id, retryCount }))
        const { settled } = (await boss.fail(queue, pairs, { error }, { db })) as unknown as ChangedJobs
        if (settled.length === 0) return []
        const delays = new Map(attempts.map(({ id, milliseconds }) => [id, Math.max(0, milliseconds)]))
        await db.executeSql(
          `update ${schema}.job job set start_after = now() + delay.milliseconds * interval '1 ms'
          from unnest($2::uuid[], $3::float8[]) as delay (id, milliseconds)
          where job.name = $1 and job.id = delay.id and job.state = 'retry'`,
          [queue, settled, settled.map((id) => delays.get(toId(id)) ?? 0)],
        )
        return settled
      }),

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

import type { Db, PgBoss } from 'pg-boss'
import type { JobsPlace } from './boss.ts'
import { statesOf } from './reading.ts'

/** The longest that PostgreSQL can look back, near enough: a thousand years in milliseconds. */
const AGES = 3e13

/** What pg-boss says of how many jobs it has changed, and which. Its types leave that out. */
export interface Changed {
  affected: number
  settled: string[]
}

/** One attempt of a job, from 0 as pg-boss counts, so that its end counts for no other. */
export interface JobAttempt {
  id: string
  retryCount: number
}

/** What pg-boss has no single call for. */
export interface Changing {
  /** Ends an attempt that failed; where there is another, it is due in so many milliseconds. */
  fail(attempt: JobAttempt, error: string, milliseconds: number): Promise<boolean>
  /**
   * Ends an attempt that succeeded although its job waits again: a crash of the server undoes the last claims, and a
   * lease may have run out.
   */
  completeWaiting(attempt: JobAttempt): Promise<boolean>
  /** Ends an attempt of what cannot be tried: there is no other. */
  bury(attempt: JobAttempt, error: string): Promise<void>
  retry(id: string): Promise<boolean>
  discard(id: string): Promise<boolean>
  /** Removes those that ended so many milliseconds ago or earlier, at most `limit`; gives their number. */
  purge(state: 'done' | 'dead', milliseconds: number, limit: number): Promise<number>
}

export function changeJobs({ connection, schema, queue }: JobsPlace): Changing {
  const { use } = connection

  /** @returns how many rows the statement gives */
  const change = (text: string, ...values: unknown[]): Promise<number> =>
    use(async (boss) => (await boss.getDb().executeSql(text, [queue, ...values])).rows.length)

  const transact = <T>(work: (boss: PgBoss, db: Db) => Promise<T>): Promise<T> =>
    use(async (boss) => {
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
    // In one transaction: nobody sees it wait for the seconds that pg-boss would have it wait.
    fail: (attempt, error, milliseconds) =>
      transact(async (boss, db) => {
        const failed = await boss.fail(queue, attempt, { error }, { db })
        if ((failed as unknown as Changed).affected === 0) return false
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
      const { updated } = await use((boss) => boss.update(queue, undefined, { id, startAfter: 0 }))
      if (updated > 0) return true
      // As it was when it came, so that it has all its attempts again, and the place that it had among the others.
      const retried = await change(
        `update ${schema}.job set state = 'created', start_after = now(), retry_count = 0, started_on = null,
          completed_on = null, heartbeat_on = null
        where name = $1 and id = $2 and state::text = any($3) returning 1`,
        ...[id, statesOf('dead')],
      )
      return retried > 0
    },

    discard: async (id) =>
      (await change(
        `delete from ${schema}.job where name = $1 and id = $2 and state::text = any($3) returning 1`,
        ...[id, statesOf('waiting', 'dead')],
      )) > 0,

    purge: (state, milliseconds, limit) =>
      change(
        `delete from ${schema}.job where name = $1 and id in (
          select id from ${schema}.job where name = $1 and state::text = any($2)
            and completed_on <= now() - $3::float8 * interval '1 ms'
          limit $4 for update skip locked
        ) returning 1`,
        ...[statesOf(state), Math.min(AGES, Math.max(0, milliseconds)), limit],
      ),
  }
}

import type { Db, JobInsert, PgBoss } from 'pg-boss'
import type { InboxState } from '../inbox.ts'
import type { Envelope } from '../stored.ts'
import type { JobsPlace } from './boss.ts'
import { statesOf } from './reading.ts'

/** The longest that PostgreSQL can look back, near enough: a thousand years in milliseconds. */
const AGES = 3e13

/** What pg-boss says of how many jobs it has changed, and which. Its types leave that out. */
export interface Changed {
  affected: number
  settled?: string[]
}

/** One attempt of a job, from 0 as pg-boss counts, so that its end counts for no other. */
export interface JobAttempt {
  id: string
  retryCount: number
}

/** A job, and how it is to be tried. */
interface LockedJob {
  data: Envelope
  kept: Pick<JobInsert, 'retryLimit' | 'retryDelay' | 'retryDelayMax' | 'heartbeatSeconds'>
}

/** What pg-boss has no single call for. */
export interface Changing {
  /** Ends an attempt that failed; where there is another, it is due in so many milliseconds. */
  fail(attempt: JobAttempt, error: string, milliseconds: number): Promise<boolean>
  retry(id: string): Promise<boolean>
  discard(id: string): Promise<boolean>
  /** Removes those that ended so many milliseconds ago or earlier, at most `limit`; gives their number. */
  purge(state: 'done' | 'dead', milliseconds: number, limit: number): Promise<number>
}

export function changeJobs(
  { connection, schema, queue }: JobsPlace,
  toJob: (envelope: Envelope) => JobInsert,
): Changing {
  const { use } = connection

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

  /** Locks a job in one of these states, so that nobody takes it meanwhile, for what `change` does with it. */
  const changeLocked = (
    id: string,
    states: readonly InboxState[],
    change: (boss: PgBoss, db: Db, job: LockedJob) => Promise<unknown>,
  ): Promise<boolean> =>
    transact(async (boss, db) => {
      const { rows } = await db.executeSql(
        `select data, json_build_object('retryLimit', retry_limit, 'retryDelay', retry_delay,
          'retryDelayMax', retry_delay_max, 'heartbeatSeconds', heartbeat_seconds) as kept
        from ${schema}.job where name = $1 and id = $2 and state::text = any($3) for update`,
        [queue, id, statesOf(...states)],
      )
      if (rows[0]) await change(boss, db, rows[0])
      return rows.length > 0
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

    async retry(id) {
      const { updated } = await use((boss) => boss.update(queue, undefined, { id, startAfter: 0 }))
      if (updated > 0) return true
      // Anew, so that it has all its attempts again: those of the inbox that took it, not of who retries it.
      return changeLocked(id, ['dead'], async (boss, db, { data, kept }) => {
        await boss.deleteJob(queue, id, { db })
        await boss.insert(queue, [{ ...toJob(data), ...kept }], { db })
      })
    },

    discard: (id) => changeLocked(id, ['waiting', 'dead'], (boss, db) => boss.deleteJob(queue, id, { db })),

    async purge(state, milliseconds, limit) {
      const { rows } = await use((boss) =>
        boss.getDb().executeSql(
          `delete from ${schema}.job where name = $1 and id in (
            select id from ${schema}.job where name = $1 and state::text = any($2)
              and completed_on <= now() - $3::float8 * interval '1 ms'
            limit $4 for update skip locked
          ) returning 1`,
          [queue, statesOf(state), Math.min(AGES, Math.max(0, milliseconds)), limit],
        ),
      )
      return rows.length
    },
  }
}

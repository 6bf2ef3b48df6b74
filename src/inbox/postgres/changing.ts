import type { Db, JobInsert, PgBoss } from 'pg-boss'
import type { InboxState } from '../inbox.ts'
import type { Envelope } from '../stored.ts'
import type { JobsPlace } from './boss.ts'
import { statesOf } from './reading.ts'

/** The longest that PostgreSQL can look back, near enough: a thousand years in milliseconds. */
const AGES = 3e13

/** What changes jobs by hand. */
export interface Changing {
  /** Makes a job that waits due in so many milliseconds. */
  postpone(id: string, milliseconds: number): Promise<boolean>
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

  /** Locks a job in one of these states, so that nobody takes it meanwhile, for what `change` does with it. */
  const changeLocked = (
    id: string,
    states: readonly InboxState[],
    change: (boss: PgBoss, db: Db, envelope: Envelope) => Promise<unknown>,
  ): Promise<boolean> =>
    use(async (boss) => {
      const transaction = await boss.getDb().beginTransaction?.()
      if (!transaction) throw new Error('pg-boss has no transactions')
      try {
        const { rows } = await transaction.db.executeSql(
          `select data from ${schema}.job where name = $1 and id = $2 and state::text = any($3) for update`,
          [queue, id, statesOf(...states)],
        )
        if (rows[0]) await change(boss, transaction.db, rows[0].data)
        await transaction.commit()
        return rows.length > 0
      } catch (error) {
        await transaction.rollback()
        throw error
      }
    })

  const postpone: Changing['postpone'] = async (id, milliseconds) => {
    const startAfter = Math.max(0, milliseconds) / 1_000
    return (await use((boss) => boss.update(queue, undefined, { id, startAfter }))).updated > 0
  }

  return {
    postpone,

    async retry(id) {
      if (await postpone(id, 0)) return true
      // Anew, so that it has all its attempts again.
      return changeLocked(id, ['dead'], async (boss, db, envelope) => {
        await boss.deleteJob(queue, id, { db })
        await boss.insert(queue, [toJob(envelope)], { db })
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

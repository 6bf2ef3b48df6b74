import type { PostgresPool } from 'geohook/postgres'
import pg from 'pg'
import { describe, expect, it, onTestFinished } from 'vitest'
import { describeWith, POSTGRES } from '../../helpers/services.ts'
import { useSchema } from './fixture.ts'

/** More than one call of `list` compares with conditions. */
const COUNT = 20_001

await describeWith(POSTGRES, (connectionString) => {
  describe('many dead letters in PostgreSQL', () => {
    const { schema, client, queueName, open } = useSchema(connectionString, 'triage')

    it('are compared in steps that read no other rows, also while PostgreSQL has no statistics', async () => {
      const plans: string[] = []
      const pool = new pg.Pool({ connectionString })
      onTestFinished(() => pool.end())
      const inbox = open({
        pool: {
          connect: () => pool.connect(),
          on: pool.on.bind(pool) as PostgresPool['on'],
          async query(statement) {
            const { text, values = [] } = statement as { text: string; values?: unknown[] }
            if (text.includes('compared')) {
              await client.query('begin')
              const { rows } = await client.query(`explain (analyze, format json) ${text}`, values)
              await client.query('rollback')
              plans.push(JSON.stringify(rows))
            }
            return pool.query(statement as never)
          },
        } as PostgresPool,
      })
      await inbox.ready()
      for (const table of ['task', 'delivery'])
        await client.query(`alter table ${schema}.inbox_${table} set (autovacuum_enabled = false)`)
      // The first ones are from an older version, and have ended an hour ago.
      await client.query(
        `with added as (
          insert into ${schema}.inbox_delivery (queue, id, received, types, head, size, body)
          select $1, lpad(to_hex(n), 32, '0'), now(), case when n % 1000 = 0 then '["A"]' else '[' end, '{}', 0, ''
          from generate_series(1, $2::int) n returning seq
        ) insert into ${schema}.inbox_task (seq, queue, state, due, error_kind)
        select seq, $1, 3, now() - case when number <= 10000 then interval '1 hour' else interval '0 s' end,
          case when number = $2 then 'Error: the last' when number > 10000 then 'Error: bad' end
        from (select seq, row_number() over (order by seq) as number from added) numbered`,
        [queueName(), COUNT],
      )
      const pages = []
      for (let next: string | undefined, isFirst = true; isFirst || next !== undefined; isFirst = false) {
        const page = await inbox.list({ error: 'the last', state: 'dead', after: next })
        pages.push(page.entries.length)
        next = page.next
      }
      expect(pages).toEqual([0, 0, 1])
      expect((await inbox.list({ changeType: 'A', state: 'dead' })).entries).toHaveLength(10)
      const rowsOf = (plan: string) =>
        [...plan.matchAll(/"Actual Rows":\s*(\d+)/g)].map(([, rows]) => Number(rows))
      expect(plans.length).toBe(4)
      expect(Math.max(...plans.flatMap(rowsOf))).toBeLessThan(10_010)

      const { groups, examined } = await inbox.errors()
      expect(groups.map(({ error, count }) => [error, count])).toEqual([
        ['Error: bad', 10_000],
        ['', 10_000],
        ['Error: the last', 1],
      ])
      expect([examined, groups[2]?.id]).toEqual([COUNT, COUNT.toString(16).padStart(32, '0')])
      expect(await inbox.purge({ state: 'dead', olderThan: 60_000, changeType: 'A' })).toBe(10)
      plans.length = 0
      expect(await inbox.retry({ state: 'dead', newerThan: 60_000, changeType: 'A' })).toBe(10)
      expect(plans.length).toBeGreaterThan(19)
      expect(Math.max(...plans.flatMap(rowsOf))).toBeLessThan(1_010)
      expect(await inbox.stats()).toMatchObject({ dead: COUNT - 20, waiting: 10 })
    })
  })
})

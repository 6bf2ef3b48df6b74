import type { PostgresPool } from 'geohook/postgres'
import pg from 'pg'
import { describe, expect, it, onTestFinished } from 'vitest'
import { describeWith, POSTGRES } from '../../helpers/services.ts'
import { useSchema } from './fixture.ts'

/** More than one call of `list` compares with conditions. */
const COUNT = 20_001

const idOf = (number: number): string => number.toString(16).padStart(32, '0')

await describeWith(POSTGRES, (connectionString) => {
  describe('many dead letters in PostgreSQL', () => {
    const { schema, client, queueName, open } = useSchema(connectionString, 'triage')

    it('are compared in steps that read no other rows, also while PostgreSQL has no statistics', async () => {
      const plans: string[] = []
      const pool = new pg.Pool({ connectionString })
      onTestFinished(() => pool.end())
      const explain = async (query: pg.Pool['query'], text: string, values: unknown[] = []) => {
        const { rows } = await query(`explain (analyze, format json) ${text}`, values)
        plans.push(JSON.stringify(rows))
      }
      pool.on('connect', (one) => {
        const query = one.query.bind(one) as (...args: unknown[]) => Promise<pg.QueryResult>
        one.query = (async (...args: [{ text: string; values?: unknown[] }]) => {
          const [{ text, values }] = args
          if (args.length === 1 && text.includes('inbox_task')) {
            await query('savepoint planned')
            await explain(query as pg.Pool['query'], text, values)
            await query('rollback to planned')
          }
          return query(...args)
        }) as typeof one.query
      })
      const inbox = open({
        pool: {
          connect: () => pool.connect(),
          on: pool.on.bind(pool) as PostgresPool['on'],
          async query(statement) {
            const { text, values = [] } = statement as { text: string; values?: unknown[] }
            if (/compared|^update/.test(text)) {
              await client.query('begin')
              await explain(client.query.bind(client), text, values)
              await client.query('rollback')
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
      expect([examined, groups[2]?.id]).toEqual([COUNT, idOf(COUNT)])
      plans.length = 0
      expect(await inbox.purge({ state: 'dead', olderThan: 60_000, changeType: 'A' })).toBe(10)
      expect(await inbox.retry(idOf(1))).toBe(true)
      expect(await inbox.discard(idOf(1))).toBe(true)
      expect(plans.length).toBeGreaterThan(20)
      expect(Math.max(...plans.flatMap(rowsOf))).toBeLessThan(1_010)
      plans.length = 0
      expect(await inbox.retry({ state: 'dead', newerThan: 60_000, changeType: 'A' })).toBe(10)
      expect(plans.length).toBeGreaterThan(19)
      expect(Math.max(...plans.flatMap(rowsOf))).toBeLessThan(1_010)
      expect(await inbox.stats()).toMatchObject({ dead: COUNT - 21, waiting: 10 })
    })
  })
})

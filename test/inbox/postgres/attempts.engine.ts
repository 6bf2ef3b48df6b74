import { type AttemptContext, createReceiver } from 'geohook'
import type { PostgresPool } from 'geohook/postgres'
import pg from 'pg'
import { describe, expect, it, onTestFinished } from 'vitest'
import { until } from '../../contract/inbox/fixture.ts'
import { KEY } from '../../helpers/deliver.ts'
import { createGate } from '../../helpers/gate.ts'
import { describeWith, POSTGRES } from '../../helpers/services.ts'
import { deliveryOf, deliveryWithId, idOf } from '../deliveries.ts'
import { useSchema } from './fixture.ts'

await describeWith(POSTGRES, (connectionString) => {
  describe('attempts of one delivery in PostgreSQL', () => {
    const { schema, client, queueName, open, expire } = useSchema(connectionString, 'attempts')
    const id = idOf('e')

    /** Creates a pool whose statements pass through a function, which can delay them or lose their results. */
    function createPool(
      around: (
        text: string,
        run: () => Promise<pg.QueryResult>,
        values: readonly unknown[],
      ) => Promise<pg.QueryResult>,
    ): PostgresPool {
      const pool = new pg.Pool({ connectionString })
      onTestFinished(() => pool.end())
      return {
        connect: () => pool.connect(),
        on: pool.on.bind(pool) as PostgresPool['on'],
        query: (statement) => {
          const { text, values = [] } = statement as { text: string; values?: unknown[] }
          return around(text, () => pool.query(statement as never), values)
        },
      }
    }

    it.each(['success', 'failure'])(
      'a late %s of an attempt whose lease expired does not end the newer attempt, and is reported as a failure',
      async (end) => {
        const [gates, begun, ended] = [[createGate(), createGate()], [] as string[], [] as string[]]
        const openAs = (name: string) => {
          const note = (event: string) => () => void ended.push(`${name} ${event}`)
          const observer = {
            handled: note('handled'),
            failed: note('failed'),
            dead: note('dead'),
            trouble() {},
          }
          const inbox = open({ observer })
          return { inbox, handle: { handle: (_: unknown, context?: AttemptContext) => work(name, context) } }
        }
        async function work(name: string, context?: AttemptContext): Promise<void> {
          begun.push(`${name} ${context?.attempt}`)
          await gates[begun.length - 1]?.gate
          if (name === 'first' && end === 'failure') throw new Error('too late')
        }
        const [first, second] = [openAs('first'), openAs('second')]
        await first.inbox.put(deliveryWithId(id))
        first.inbox.work(first.handle as never, { concurrency: 1 })
        await until(() => begun.length === 1)
        await expire(id) // the first inbox renews the lease only after this test
        second.inbox.work(second.handle as never, { concurrency: 1 })
        await until(() => begun.length === 2)
        gates[0]?.release()
        await until(() => ended.length === 1)
        // The interrupted attempt ran in company, so it is given back.
        expect(begun).toEqual(['first 1', 'second 1'])
        expect(ended).toEqual(['first failed'])
        expect(await second.inbox.get(id)).toMatchObject({ state: 'active', attempts: 1 })
        gates[1]?.release()
        await until(() => ended.length === 2)
        expect(ended[1]).toBe('second handled')
        expect(await second.inbox.get(id)).toMatchObject({ state: 'done', attempts: 1 })
      },
    )

    it('a success after the lease has expired is recorded, if no other process has taken the delivery', async () => {
      const inbox = open()
      const held = createGate()
      const begun: unknown[] = []
      await inbox.put(deliveryWithId(id))
      inbox.work({ handle: () => held.gate.then(() => begun.push(1)) }, { concurrency: 1 })
      await until(async () => (await inbox.get(id))?.state === 'active')
      await expire(id)
      // Another worker of the inbox does not take it either, because its handler is still running.
      inbox.work({ handle: async () => begun.push(2) })
      await inbox.put(deliveryWithId(idOf(1)))
      await until(async () => (await inbox.stats()).done === 1)
      held.release()
      await until(async () => (await inbox.get(id))?.state === 'done')
      expect(begun.sort()).toEqual([1, 2])
    })

    it.each([
      ['a head that is not JSON', 'head', '{'],
      ['a head without headers', 'head', '5'],
    ])('a delivery with %s becomes a dead letter, and the others are handled', async (_, column, value) => {
      const dead: string[] = []
      const inbox = open({ observer: { dead: ({ delivery }) => dead.push(delivery.id) } })
      for (const digit of [1, 2, 3]) await inbox.put(deliveryWithId(idOf(digit)))
      await client.query(`update ${schema}.inbox_delivery set ${column} = $1, types = '[' where id = $2`, [
        value,
        idOf(2),
      ])
      const handled: string[] = []
      inbox.work({ handle: async (delivery) => void handled.push(delivery.id) })
      await until(async () => (await inbox.stats()).done === 2)
      await until(async () => (await inbox.stats()).dead === 1)
      expect([handled.sort(), dead]).toEqual([[idOf(1), idOf(3)], [idOf(2)]])
      const letter = await inbox.get(idOf(2))
      expect(letter).toMatchObject({
        attempts: 1,
        changeTypes: [],
        error: expect.stringContaining('cannot be read'),
      })
      expect(letter?.delivery.rawBody).toEqual(deliveryWithId(idOf(2)).rawBody)
      expect(await inbox.discard(idOf(2))).toBe(true)
    })

    it('tells a success once, if the answer to its record was lost', async () => {
      let lost = 0
      const pool = createPool(async (text, run) => {
        const result = await run()
        if (text.includes('with ended as') && lost++ < 2) throw new Error('lost')
        return result
      })
      const told: string[] = []
      const note = (name: string) => () => void told.push(name)
      const observer = { handled: note('handled'), failed: note('failed'), trouble: note('trouble') }
      const inbox = open({ pool, observer })
      await inbox.put(deliveryWithId(id))
      inbox.work({ handle: async () => {} })
      await until(() => told.length === 3)
      expect(told).toEqual(['trouble', 'trouble', 'handled'])
    })

    it('retries a delivery at once if it is taken again before the statement that recorded its failure is answered', async () => {
      let takes = 0
      const pool = createPool(async (text, run) => {
        const result = await run()
        if (text.includes('with due as') && result.rows.length > 0) takes++
        if (text.includes('with ended as') && takes === 1) await until(() => takes === 2)
        return result
      })
      const inbox = open({ pool, lease: 3_600_000 })
      await inbox.put(deliveryWithId(id))
      const begun: unknown[] = []
      inbox.work({
        async handle(_, { attempt }) {
          begun.push(attempt)
          if (begun.length === 1) throw new Error('no')
        },
      })
      await until(async () => (await inbox.get(id))?.state === 'done', 15_000)
      expect(begun).toEqual([1, 2])
    })

    it('a suspect whose take was not answered keeps its attempt', async () => {
      let lost = 0
      const pool = createPool(async (text, run) => {
        const result = await run()
        if (text.includes('with suspect as') && result.rows.length > 0 && lost++ < 2) throw new Error('lost')
        return result
      })
      const inbox = open({ pool, attempts: 1, lease: 1_000 })
      await inbox.put(deliveryWithId(id))
      const table = `${schema}.inbox_task`
      await client.query(
        `update ${table} set state = 1, attempts = 1, token = 1, owner = gen_random_uuid(), due = now() where seq =
          (select max(seq) from ${table})`,
      )
      const begun: unknown[] = []
      inbox.work({ handle: async (_, { attempt }) => begun.push(attempt) })
      await until(async () => (await inbox.get(id))?.state === 'done')
      expect(begun).toEqual([1])
      expect(lost).toBeGreaterThanOrEqual(2)
    })

    it.each([
      ['waiting', 0, 'state = 0 and due <= statement_timestamp()'],
      ['interrupted', 1, 'with suspect as'],
      ['unhandled', 4, 'state = 4 and seq = any'],
    ])('workers that have not seen a pause yet take no %s delivery', async (_, state, part) => {
      const operator = open()
      const taken: unknown[] = []
      const pool = createPool(async (text, run) => {
        if (!text.includes(part) || taken.length > 0) return run()
        await operator.pause()
        const { rows } = await run()
        taken.push(...rows, 'none')
        return { rows } as pg.QueryResult
      })
      await operator.put(deliveryWithId(id))
      await client.query(
        `update ${schema}.inbox_task set state = $1, due = now() where seq = (select max(seq) from ${schema}.inbox_task)`,
        [state],
      )
      open({ pool }).work({ handle: async () => {} })
      await until(() => taken.length > 0)
      expect(taken).toEqual(['none'])
      await operator.resume()
      await until(async () => (await operator.get(id))?.state === 'done', 20_000)
    })

    it('discard() waits for a take, and then refuses', async () => {
      const inbox = open()
      await inbox.put(deliveryWithId(id))
      const other = new pg.Client({ connectionString })
      await other.connect()
      onTestFinished(() => other.end())
      const pick = `seq = (select max(seq) from ${schema}.inbox_task)`
      await other.query(
        `begin; update ${schema}.inbox_task set state = 1, due = now() + interval '1 h' where ${pick}`,
      )
      const discarding = inbox.discard(id)
      await until(async () => {
        const { rows } = await client.query(
          `select from pg_stat_activity where wait_event_type = 'Lock' and query like '%delete from%${schema}%'`,
        )
        return rows.length > 0
      })
      await other.query('commit')
      expect(await discarding).toBe(false)
      expect((await inbox.get(id))?.state).toBe('active')
    })

    it('a due delivery that another session has locked does not make the workers ask without a pause', async () => {
      let queries = 0
      const pool = createPool((_, run) => {
        queries++
        return run()
      })
      const inbox = open({ pool })
      await inbox.put(deliveryWithId(id))
      const other = new pg.Client({ connectionString })
      await other.connect()
      onTestFinished(() => other.end())
      await other.query(`begin; select from ${schema}.inbox_task order by seq desc limit 1 for update`)
      const handled: string[] = []
      inbox.work({ handle: async (delivery) => handled.push(delivery.id) })
      await until(() => queries > 6)
      const before = queries
      await new Promise((resolve) => setTimeout(resolve, 1_000)) // counts the queries of one second
      expect(queries - before).toBeLessThan(20)
      await other.query('commit')
      await until(() => handled.length === 1)
    })

    it('reads bodies whatever the output format of the server is', async () => {
      const pool = new pg.Pool({ connectionString, options: '-c bytea_output=escape' })
      onTestFinished(() => pool.end())
      const inbox = open({ pool })
      const rawBody = Uint8Array.from({ length: 256 }, (_, byte) => byte)
      await inbox.put({ ...deliveryWithId(id), rawBody })
      expect((await inbox.get(id))?.delivery.rawBody).toEqual(rawBody)
      const bodies: Uint8Array[] = []
      inbox.work({ handle: async (delivery) => bodies.push(delivery.rawBody) })
      await until(() => bodies.length === 1)
      expect(bodies).toEqual([rawBody])
    })

    /** Adds dead letters to the queue of the test. */
    const addDead = (count: number) =>
      client.query(
        `with added as (
          insert into ${schema}.inbox_delivery (queue, id, received, types, head, size, body)
          select $1, md5(n::text), now(), '[]', '{}', 0, '' from generate_series(1, $2::int) n returning seq
        ) insert into ${schema}.inbox_task (seq, queue, state, due) select seq, $1, 3, now() from added`,
        [queueName(), count],
      )

    it('finds the deliveries to end by their key, also while PostgreSQL has no statistics', async () => {
      let plan = ''
      const pool = createPool(async (text, run, values) => {
        if (text.includes('with ended as')) {
          await client.query('begin')
          const { rows } = await client.query(`explain (analyze, format json) ${text}`, values as unknown[])
          await client.query('rollback')
          plan ||= JSON.stringify(rows)
        }
        return run()
      })
      const inbox = open({ pool })
      await inbox.ready()
      await client.query(`alter table ${schema}.inbox_task set (autovacuum_enabled = false)`)
      await addDead(5_000)
      for (let i = 0; i < 50; i++) await inbox.put(deliveryOf())
      inbox.work({ handle: async () => {} }, { concurrency: 50 })
      await until(async () => (await inbox.stats()).done === 50)
      const discarded = [...plan.matchAll(/"Rows Removed by [^"]+":\s*(\d+)/g)].map(([, rows]) =>
        Number(rows),
      )
      expect(plan).toContain('"Actual Rows":')
      expect(Math.max(0, ...discarded)).toBeLessThan(10_000)
    })

    it('finds the next due task of a name among many of another one, also while PostgreSQL has no statistics', async () => {
      let plan = ''
      const pool = createPool(async (text, run, values) => {
        if (text.includes('as wait') && plan === '') {
          await client.query('begin')
          const { rows } = await client.query(`explain (analyze, format json) ${text}`, values as unknown[])
          await client.query('rollback')
          plan = JSON.stringify(rows)
        }
        return run()
      })
      const inbox = open({ pool })
      await inbox.ready()
      await client.query(`alter table ${schema}.inbox_task set (autovacuum_enabled = false)`)
      await client.query(
        `with added as (
          insert into ${schema}.inbox_delivery (queue, id, received, types, head, size, body)
          select $1, md5(n::text), now(), '["A"]', '{}', 0, '' from generate_series(1, 50000) n returning seq
        ) insert into ${schema}.inbox_task (seq, queue, handler, state, due, routed)
        select seq, $1, 'other', 0, now(), true from added`,
        [queueName()],
      )
      const workers = inbox.work(createReceiver({ signatureKey: KEY }).on('A', () => {}, { name: 'erp' }))
      await until(() => plan !== '')
      await workers.close()
      const discarded = [...plan.matchAll(/"Rows Removed by [^"]+":\s*(\d+)/g)].map(([, rows]) =>
        Number(rows),
      )
      expect(plan).toContain('"Actual Rows":')
      expect(Math.max(0, ...discarded)).toBeLessThan(1_000)
    })

    it('counts deliveries exactly, as long as counting is quick', async () => {
      const inbox = open()
      await inbox.put(deliveryWithId(id))
      await addDead(3_000)
      expect(await inbox.stats()).toMatchObject({ waiting: 1, dead: 3_000 })
      expect(await inbox.purge({ state: 'dead' })).toBe(3_000)
      expect(await inbox.stats()).toMatchObject({ waiting: 1, dead: 0 })
    })

    it('takes numbers above 1,000 from the background if counting is slow', async () => {
      let counts = 0
      const pool = createPool(async (text, run) => {
        if (text.includes('group by state')) {
          counts++
          await new Promise((resolve) => setTimeout(resolve, 50))
        }
        return run()
      })
      const inbox = open({ pool })
      await inbox.put(deliveryWithId(id))
      await addDead(3_000)
      expect(await inbox.stats()).toMatchObject({ waiting: 1, dead: 3_000 })
      await client.query(
        `delete from ${schema}.inbox_delivery where queue = $1 and id <> $2 and seq % 2 = 0`,
        [queueName(), id],
      )
      await inbox.put(deliveryWithId(idOf(1)))
      expect(await inbox.stats()).toMatchObject({ waiting: 2, dead: 3_000 })
      expect(counts).toBe(1)
      await until(async () => (await inbox.stats()).dead === 1_500)
      expect(counts).toBe(2)
      expect(await inbox.purge({ state: 'dead' })).toBe(1_500)
      expect(await inbox.stats()).toMatchObject({ waiting: 2, dead: 0 })
    })
  })
})

import { createReceiver, type Delivery } from 'geohook'
import pg from 'pg'
import { describe, expect, it, onTestFinished } from 'vitest'
import { until } from '../../contract/inbox/fixture.ts'
import { KEY } from '../../helpers/deliver.ts'
import { describeWith, POSTGRES } from '../../helpers/services.ts'
import { editOf } from '../deliveries.ts'
import { useSchema } from './fixture.ts'

const ROOT = 'https://gis.example.com/rest/services'

const orderedOf = (service: string): Delivery => ({
  ...editOf(service),
  events: [
    { changesUrl: `${ROOT}/${service}/FeatureServer/extractChanges?serverGens=[1,2]` },
  ] as Delivery['events'],
})

await describeWith(POSTGRES, (connectionString) => {
  describe('the order of a service in PostgreSQL', () => {
    const { schema, client, queueName, open } = useSchema(connectionString, 'order')

    /** A receiver that adds the ids of deliveries to a list. */
    const receiverFor = (handled: string[]) =>
      createReceiver({ signatureKey: KEY }).onDelivery(({ id }) => void handled.push(id))

    /** Returns a pool that notes the plan of each statement about tasks in a transaction. */
    function createPlanningPool(plans: string[]): pg.Pool {
      const pool = new pg.Pool({ connectionString })
      onTestFinished(() => pool.end())
      pool.on('connect', (one) => {
        const query = one.query.bind(one) as (...args: unknown[]) => Promise<pg.QueryResult>
        const explain = async (statement: { text: string; values?: unknown[] }) => {
          await query('savepoint planned')
          const text = `explain (analyze, format json) ${statement.text}`
          plans.push(JSON.stringify((await query({ text, values: statement.values ?? [] })).rows))
          await query('rollback to planned')
          return query(statement)
        }
        one.query = ((...args: [{ text: string }]) =>
          args.length === 1 && args[0].text.includes('inbox_task')
            ? explain(args[0])
            : query(...args)) as typeof one.query
      })
      return pool
    }

    it('reads few rows for each take when many tasks are held, also while PostgreSQL has no statistics', async () => {
      const inbox = open()
      await inbox.ready()
      await client.query(`alter table ${schema}.inbox_task set (autovacuum_enabled = false)`)
      // The first of them fails, and the others wait for it.
      await client.query(
        `with added as (
          insert into ${schema}.inbox_delivery (queue, id, received, types, head, size, body)
          select $1, md5(n::text), now(), '[]', '{}', 0, '' from generate_series(1, 20000) n returning seq
        ) insert into ${schema}.inbox_task (seq, queue, service, state, due)
        select seq, $1, '${ROOT}/Parcels/FeatureServer', case row_number() over (order by seq) when 1 then 0 else 5 end,
          now() + interval '1 hour' from added`,
        [queueName()],
      )
      const held = orderedOf('Parcels')
      const others = Array.from({ length: 4 }, () => orderedOf('Streets'))
      for (const delivery of [held, ...others]) await inbox.put(delivery)
      const [plans, handled]: [string[], string[]] = [[], []]
      open({ pool: createPlanningPool(plans) }).work(receiverFor(handled), { order: { by: 'service' } })
      await until(() => handled.length === others.length)
      expect(handled).toEqual(others.map(({ id }) => id))
      expect(await inbox.get(held.id)).toMatchObject({ held: true })
      const counts = plans.flatMap((plan) =>
        [...plan.matchAll(/"(?:Actual Rows|Rows Removed by [^"]+)":\s*(\d+)/g)].map(([, rows]) =>
          Number(rows),
        ),
      )
      expect(plans.some((plan) => plan.includes('CTE blocked'))).toBe(true)
      expect(Math.max(...counts)).toBeLessThan(1_000)
    })

    it('takes again after the server has ended the connection between two statements of a take', async () => {
      const pool = new pg.Pool({ connectionString })
      onTestFinished(() => pool.end())
      let ended = 0
      pool.on('connect', (one) => {
        const query = one.query.bind(one) as (...args: unknown[]) => Promise<pg.QueryResult>
        const end = async (statement: { text: string }) => {
          const { rows } = await query('select pg_backend_pid() as pid')
          const lost = new Promise<void>((resolve) => one.on('end', () => resolve()))
          await client.query('select pg_terminate_backend($1)', [rows[0].pid])
          await lost
          return query(statement)
        }
        one.query = ((...args: [{ text: string }]) =>
          args.length === 1 && args[0].text.includes('blocked as') && ended++ === 0
            ? end(args[0])
            : query(...args)) as typeof one.query
      })
      const inbox = open({ pool })
      await inbox.put(orderedOf('Parcels'))
      inbox.work(receiverFor([]), { order: { by: 'service' } })
      await until(async () => (await inbox.stats()).done === 1)
      expect(ended).toBeGreaterThan(1)
    })

    it('renews leases without a deadlock after a take has waited for long', async () => {
      const pool = new pg.Pool({ connectionString })
      onTestFinished(() => pool.end())
      const query = pool.query.bind(pool) as (...args: unknown[]) => Promise<pg.QueryResult>
      const failed: string[] = []
      pool.query = (async (...args: unknown[]) => {
        try {
          return await query(...args)
        } catch (error) {
          failed.push((error as pg.DatabaseError).code ?? '')
          throw error
        }
      }) as typeof pool.query
      const inbox = open({ pool, lease: 1_000 })
      await Promise.all(Array.from({ length: 50 }, (_, index) => inbox.put(orderedOf(`S${index}`))))
      await client.query(`begin; lock table ${schema}.inbox_task`)
      inbox.work(receiverFor([]), { order: { by: 'service' }, concurrency: 50 })
      await new Promise((resolve) => setTimeout(resolve, 600)) // more than half of a lease
      await client.query('rollback')
      await until(async () => (await inbox.stats()).done === 50, 20_000)
      expect(failed).not.toContain('40P01')
    })

    it('does not wait for an inbox in another schema', async () => {
      const other = `${schema}_other`
      onTestFinished(() => client.query(`drop schema ${other} cascade`).then(() => {}))
      const [inbox, second] = [open(), open({ schema: other })]
      for (const one of [inbox, second]) await one.put(orderedOf('Parcels'))
      let isLocked = false
      const receiver = createReceiver({ signatureKey: KEY }).onDelivery(async () => {
        await client.query(`begin; select from ${schema}.inbox_task for update`)
        isLocked = true
      })
      inbox.work(receiver, { order: { by: 'service' } })
      await until(() => isLocked)
      const waiting = 'select from pg_locks where transactionid = pg_current_xact_id()::xid and not granted'
      await until(async () => (await client.query(waiting)).rows.length > 0)
      second.work(receiverFor([]), { order: { by: 'service' } })
      const continues = until(async () => (await second.stats()).done === 1, 3_000)
      await continues.finally(() => client.query('rollback'))
      await second.close()
    })

    it('releases held deliveries that wait for no other, also if only workers without an order are left', async () => {
      const inbox = open()
      const deliveries = [orderedOf('Parcels'), orderedOf('Parcels')]
      for (const delivery of deliveries) await inbox.put(delivery)
      await client.query(`update ${schema}.inbox_task set state = 5 where queue = $1`, [queueName()])
      const handled: string[] = []
      inbox.work(receiverFor(handled))
      await until(async () => (await inbox.stats()).done === 2)
      expect(handled).toEqual(deliveries.map(({ id }) => id))
    })
  })
})

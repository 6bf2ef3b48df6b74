import { randomBytes } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { describeWith, POSTGRES } from '../../helpers/services.ts'
import { deliveryWithId, idOf } from '../deliveries.ts'
import { useSchema } from './fixture.ts'

const newDelivery = () => deliveryWithId(randomBytes(16).toString('hex'))

/** Makes `count` calls, 50 at a time. Returns the total duration in milliseconds. */
async function timeOf(count: number, call: () => Promise<unknown>): Promise<number> {
  let remaining = count
  async function callAll(): Promise<void> {
    while (remaining-- > 0) await call()
  }
  const started = performance.now()
  await Promise.all(Array.from({ length: 50 }, callAll))
  return performance.now() - started
}

await describeWith(POSTGRES, (connectionString) => {
  describe('put() of a PostgreSQL inbox', () => {
    const { schema, client, queueName, open, withBoss } = useSchema(connectionString, 'puts')

    it('sends several deliveries in one statement, which is faster than one statement each', async () => {
      const inbox = open()
      await inbox.put(newDelivery())
      await withBoss(async (boss, queue) => {
        const times = { put: Infinity, send: Infinity }
        for (let round = 0; round < 3; round++) {
          times.put = Math.min(times.put, await timeOf(300, () => inbox.put(newDelivery())))
          times.send = Math.min(times.send, await timeOf(300, () => boss.send(queue, { pad: 'x' })))
        }
        // The measured ratio is a third or less. Without shared statements, it is 1 or more.
        expect(times.put / times.send).toBeLessThan(0.67)
      })
    })

    it('has a separate result for each delivery: stored, duplicate, or an error for invalid data', async () => {
      const inbox = open()
      await inbox.put(deliveryWithId(idOf(1)))
      const ids = [idOf(2), 'no id', idOf(1), idOf(3), idOf(2), idOf(4), 'no id either', idOf(5)]
      const results = await Promise.allSettled(ids.map((id) => inbox.put(deliveryWithId(id))))
      expect(results.map((result) => (result.status === 'fulfilled' ? result.value : 'error'))).toEqual([
        ...['stored', 'error', 'duplicate', 'stored', 'duplicate', 'stored', 'error', 'stored'],
      ])
      expect((await inbox.stats()).waiting).toBe(5)
    })

    it('stores at most maxPending deliveries for concurrent calls', async () => {
      const inbox = open({ maxPending: 10 })
      const results = await Promise.allSettled(Array.from({ length: 300 }, () => inbox.put(newDelivery())))
      expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(10)
      expect((await inbox.stats()).waiting).toBe(10)
    })

    /** While `work` runs, makes PostgreSQL run a statement before each insert into the queue of the test. */
    async function withTrigger(statement: string, work: () => Promise<void>): Promise<void> {
      await client.query(`create function ${schema}.before() returns trigger language plpgsql as
        $$ begin if new.name = '${queueName()}' then ${statement} end if; return new; end $$`)
      await client.query(`create trigger before before insert on ${schema}.job
        for each row execute function ${schema}.before()`)
      try {
        await work()
      } finally {
        await client.query(`drop function ${schema}.before() cascade`)
      }
    }

    it('does not deadlock if two processes put the same deliveries in a different order', async () => {
      const [first, second] = [open(), open()]
      await Promise.all([first.put(deliveryWithId(idOf(1))), second.put(deliveryWithId(idOf(1)))])
      // The delay lets both statements insert their first job before one reaches a job that the other has inserted.
      await client.query(`create sequence ${schema}.rows`)
      await withTrigger(`perform nextval('${schema}.rows'); perform pg_sleep(0.1);`, async () => {
        const puts = await Promise.all([
          ...[2, 3].map((digit) => first.put(deliveryWithId(idOf(digit)))),
          ...[3, 2].map((digit) => second.put(deliveryWithId(idOf(digit)))),
        ])
        expect(puts.sort()).toEqual(['duplicate', 'duplicate', 'stored', 'stored'])
      })
      // After a deadlock, the inbox would have inserted rows again. A rollback does not reset a sequence.
      const { rows } = await client.query(`select last_value from ${schema}.rows`)
      expect(rows).toEqual([{ last_value: '4' }])
    })

    it('repeats a statement that PostgreSQL cancelled because of a deadlock', async () => {
      const inbox = open()
      await inbox.put(deliveryWithId(idOf(1)))
      await client.query(`create sequence ${schema}.inserts`)
      const cancel = `if nextval('${schema}.inserts') = 1 then raise exception using errcode = '40P01'; end if;`
      await withTrigger(cancel, async () => {
        const puts = await Promise.all([2, 1, 3].map((digit) => inbox.put(deliveryWithId(idOf(digit)))))
        expect(puts).toEqual(['stored', 'duplicate', 'stored'])
      })
    })

    it('stores concurrent deliveries of any size', async () => {
      const inbox = open()
      const rawBody = new Uint8Array(700_000).fill(120)
      const deliveries = Array.from({ length: 5 }, () => ({ ...newDelivery(), rawBody }))
      expect(await Promise.all(deliveries.map((one) => inbox.put(one)))).toEqual(Array(5).fill('stored'))
      const item = await inbox.get(deliveries[4]?.id ?? '')
      expect(item?.delivery.rawBody.length).toBe(700_000)
    })
  })
})

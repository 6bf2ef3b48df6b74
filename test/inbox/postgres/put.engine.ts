import { randomBytes } from 'node:crypto'
import { createPostgresInbox } from 'geohook/postgres'
import { describe, expect, it, onTestFinished } from 'vitest'
import { until } from '../../contract/inbox/fixture.ts'
import { describeWith, POSTGRES } from '../../helpers/services.ts'
import { deliveryWithId, idOf } from '../deliveries.ts'
import { useSchema } from './fixture.ts'

const newDelivery = () => deliveryWithId(randomBytes(16).toString('hex'))

await describeWith(POSTGRES, (connectionString) => {
  describe('put() of a PostgreSQL inbox', () => {
    const { schema, client, open } = useSchema(connectionString, 'puts')

    it('sends several deliveries in one statement', async () => {
      const inbox = open()
      await inbox.put(newDelivery())
      await client.query(`create sequence ${schema}.statements`)
      await withTrigger('statement', `perform nextval('${schema}.statements');`, async () => {
        await Promise.all(Array.from({ length: 100 }, () => inbox.put(newDelivery())))
      })
      const { rows } = await client.query(`select last_value from ${schema}.statements`)
      expect(rows).toEqual([{ last_value: '2' }])
      expect((await inbox.stats()).waiting).toBe(101)
    })

    it('has a separate result for each delivery: stored, duplicate, or an error for invalid data', async () => {
      const inbox = open()
      await inbox.put(deliveryWithId(idOf(1)))
      // PostgreSQL stores no NUL in a text.
      const ids = [idOf(2), 'no\0id', idOf(1), idOf(3), idOf(2), idOf(4), '\0', idOf(5)]
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

    it('two processes exceed maxPending by at most what they store between two counts', async () => {
      const [first, second] = [open({ maxPending: 10 }), open({ maxPending: 10 })]
      await Promise.all([first.put(newDelivery()), second.put(newDelivery())])
      const putAll = async (inbox: typeof first) => {
        const results = await Promise.allSettled(Array.from({ length: 30 }, () => inbox.put(newDelivery())))
        return results.filter(({ status }) => status === 'fulfilled').length
      }
      const stored = (await putAll(first)) + (await putAll(second))
      expect(stored).toBeLessThanOrEqual(18)
      expect((await first.stats()).waiting).toBe(2 + stored)
      // Both learn it from the next count.
      await until(() =>
        first.put(newDelivery()).then(
          () => false,
          (error) => /full/.test(error.message),
        ),
      )
      expect((await first.stats()).waiting).toBeLessThan(25)
    })

    /** While `work` runs, makes PostgreSQL run SQL before each row or statement that adds deliveries. */
    async function withTrigger(
      each: 'row' | 'statement',
      sql: string,
      work: () => Promise<void>,
    ): Promise<void> {
      await client.query(`create function ${schema}.before() returns trigger language plpgsql as
        $$ begin ${sql} return new; end $$`)
      await client.query(`create trigger before before insert on ${schema}.inbox_delivery
        for each ${each} execute function ${schema}.before()`)
      try {
        await work()
      } finally {
        await client.query(`drop function ${schema}.before() cascade`)
      }
    }

    it('does not deadlock if two processes put the same deliveries in a different order', async () => {
      const [first, second] = [open(), open()]
      await Promise.all([first.put(deliveryWithId(idOf(1))), second.put(deliveryWithId(idOf(1)))])
      // The delay lets both statements insert their first row before one reaches a row that the other has inserted.
      await client.query(`create sequence ${schema}.rows`)
      await withTrigger('row', `perform nextval('${schema}.rows'); perform pg_sleep(0.1);`, async () => {
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
      await withTrigger('row', cancel, async () => {
        const puts = await Promise.all([2, 1, 3].map((digit) => inbox.put(deliveryWithId(idOf(digit)))))
        expect(puts).toEqual(['stored', 'duplicate', 'stored'])
      })
    })

    it('stores any tenant, header and change type in a database with another encoding', async () => {
      const database = `${schema}_latin`
      await client.query(
        `create database ${database} encoding 'LATIN1' lc_collate 'C' lc_ctype 'C' template template0`,
      )
      const url = new URL(connectionString)
      url.pathname = `/${database}`
      const inbox = createPostgresInbox({ connectionString: url.href })
      onTestFinished(async () => {
        await inbox.close()
        await client.query(`drop database ${database} with (force)`)
      })
      const text = '\u0142 \ud83d\ude00 \0 \ud800'
      const delivery = { ...newDelivery(), tenant: text, headers: { 'x-name': text }, changeTypes: [text] }
      expect(await inbox.put(delivery)).toBe('stored')
      expect(await inbox.get(delivery.id)).toMatchObject({
        changeTypes: [text],
        delivery: { tenant: text, headers: { 'x-name': text } },
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

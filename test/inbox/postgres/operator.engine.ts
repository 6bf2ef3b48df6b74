import { createReceiver, PermanentFailure } from 'geohook'
import { createPostgresDuplicates } from 'geohook/postgres'
import pg from 'pg'
import { describe, expect, it, onTestFinished } from 'vitest'
import { until } from '../../contract/inbox/fixture.ts'
import { KEY, payloadOf } from '../../helpers/deliver.ts'
import { describeWith, POSTGRES } from '../../helpers/services.ts'
import { deliveryWithId, idOf } from '../deliveries.ts'
import { useSchema } from './fixture.ts'

await describeWith(POSTGRES, (connectionString) => {
  describe('an operator changes the tables of an inbox', () => {
    const { schema, client, queueName, open } = useSchema(connectionString, 'operator')

    /** Runs a statement, and repeats it if PostgreSQL reports a deadlock between it and the inbox. */
    const change = (statement: string) =>
      until(() =>
        client.query(statement).then(
          () => true,
          ({ code }) => {
            if (code !== '40P01') throw new Error(`${statement} failed`)
            return false
          },
        ),
      )

    it.each(['drop schema $ cascade', 'drop table $.inbox_task'])(
      '%s: the inbox accepts only deliveries that it stores, and recovers',
      async (statement) => {
        const inbox = open()
        const handled: string[] = []
        expect(await inbox.put(deliveryWithId(idOf(1)))).toBe('stored')
        inbox.work({ handle: async ({ id }) => void handled.push(id) })
        await until(() => handled.length === 1)
        await change(statement.replace('$', schema))
        // Retry the delivery, as a sender would.
        await until(() =>
          inbox.put(deliveryWithId(idOf(2))).then(
            (result) => {
              expect(result).toBe('stored')
              return true
            },
            () => false,
          ),
        )
        expect(await inbox.put(deliveryWithId(idOf(2)))).toBe('duplicate')
        await until(() => handled.includes(idOf(2)))
        await until(async () => (await inbox.stats()).done === 1)
        await inbox.close()
        // Wait until all connections are closed.
        await until(async () => {
          const { rows } = await client.query('select pid from pg_stat_activity where query like $1', [
            `%${schema}%${queueName()}%`,
          ])
          return rows.length === 0
        })
      },
    )

    it('two processes discard the last fates of a delivery at once, with repeatable read as the default', async () => {
      const isolation = 'options=-c%20default_transaction_isolation%3Drepeatable%5C%20read'
      const url = `${connectionString}${connectionString.includes('?') ? '&' : '?'}${isolation}`
      const [one, other] = [open({ connectionString: url }), open({ connectionString: url })]
      const ids = Array.from({ length: 20 }, (_, index) => idOf(100 + index))
      const fail = () => {
        throw new PermanentFailure('no')
      }
      const receiver = createReceiver({ signatureKey: KEY })
      for (const name of ['erp', 'crm']) receiver.onDelivery(fail, { name })
      const workers = one.work(receiver)
      const rawBody = new TextEncoder().encode(payloadOf('FeaturesCreated'))
      for (const id of ids) await one.put({ ...deliveryWithId(id), rawBody })
      await until(async () => (await one.stats()).dead === 2 * ids.length)
      await workers.close()
      for (const id of ids) await Promise.all([one.discard(id, 'erp'), other.discard(id, 'crm')])
      const { rows } = await client.query(`select id from ${schema}.inbox_delivery where queue = $1`, [
        queueName(),
      ])
      expect(rows).toEqual([])
    })

    it('the announcements of workers are lost: a worker still routes deliveries to its own names', async () => {
      const inbox = open()
      await inbox.ready()
      await client.query(`
        create function ${schema}.skip() returns trigger language plpgsql as 'begin return null; end';
        create trigger skip before insert on ${schema}.inbox_worker for each row execute function ${schema}.skip()`)
      onTestFinished(async () => {
        await client.query(`drop function if exists ${schema}.skip cascade`)
      })
      const handled: string[] = []
      const receiver = createReceiver({ signatureKey: KEY })
        .on('FeaturesCreated', () => handled.push(''))
        .on('FeaturesCreated', () => handled.push('erp'), { name: 'erp' })
      const rawBody = new TextEncoder().encode(payloadOf('FeaturesCreated'))
      await inbox.put({ ...deliveryWithId(idOf(1)), rawBody })
      inbox.work(receiver)
      await until(async () => {
        const { done, waiting, active } = await inbox.stats()
        return done > 0 && waiting + active === 0
      })
      expect(handled.sort()).toEqual(['', 'erp'])
    })

    it('the table of generations is dropped: one call fails, and the next one creates the table', async () => {
      const { generations } = open()
      await generations.raise('https://gis.example.com/a', new Map([[0, 3]]))
      await client.query(`drop table ${schema}.inbox_generation`)
      await expect(generations.get('https://gis.example.com/a')).rejects.toThrow('generation')
      expect(await generations.get('https://gis.example.com/a')).toEqual(new Map())
      await generations.raise('https://gis.example.com/a', new Map([[0, 4]]))
      expect(await generations.get('https://gis.example.com/a')).toEqual(new Map([[0, 4]]))
    })

    it('uses tables of a newer version as long as they are compatible, and refuses others, also while it is open', async () => {
      const inbox = open()
      expect(await inbox.put(deliveryWithId(idOf(1)))).toBe('stored')
      onTestFinished(() => void client.query(`update ${schema}.inbox_meta set version = 3, compatible = 3`))
      await client.query(`update ${schema}.inbox_meta set version = 9`)
      expect(await open().put(deliveryWithId(idOf(2)))).toBe('stored')
      await client.query(`update ${schema}.inbox_meta set compatible = 9`)
      const refused = {
        code: 'config_invalid',
        message: expect.stringMatching(new RegExp(`${schema}.* version 9.* at most 3$`)),
        hint: expect.stringContaining('Use the version of geohook'),
      }
      await expect(open().put(deliveryWithId(idOf(3)))).rejects.toMatchObject(refused)
      await until(() =>
        inbox.put(deliveryWithId(idOf(4))).then(
          () => false,
          (error) => {
            expect(error).toMatchObject(refused)
            return true
          },
        ),
      )
      await expect(inbox.stats()).rejects.toMatchObject(refused)
      await client.query(`update ${schema}.inbox_meta set compatible = 3`)
      expect(await inbox.put(deliveryWithId(idOf(5)))).toBe('stored')
    })

    it('works for a role that owns a schema and can create none', async () => {
      const name = `${schema}_dba`
      await client.query(
        `create role ${name} login password 'x'; create schema ${name} authorization ${name}`,
      )
      const url = new URL(connectionString)
      Object.assign(url, { username: name, password: 'x' })
      const pool = new pg.Pool({ connectionString: url.href })
      onTestFinished(async () => {
        await pool.end()
        await client.query(`drop schema ${name} cascade; drop role ${name}`)
      })
      const inbox = open({ pool, schema: name })
      const handled: string[] = []
      expect(await inbox.put(deliveryWithId(idOf(1)))).toBe('stored')
      inbox.work({ handle: async ({ id }) => void handled.push(id) })
      await until(() => handled.length === 1)
      await inbox.close()
      expect((await pool.query('select 1 as alive')).rows).toEqual([{ alive: 1 }]) // geohook has not ended it
    })

    it('says at the start that a role may not use the tables, and workers report it once', async () => {
      const name = `${schema}_reader`
      await open().ready()
      await client.query(`create role ${name} login password 'x'; grant usage on schema ${schema} to ${name};
        grant select, insert, update on all tables in schema ${schema} to ${name}`)
      const url = new URL(connectionString)
      Object.assign(url, { username: name, password: 'x' })
      const pool = new pg.Pool({ connectionString: url.href })
      onTestFinished(async () => {
        await pool.end()
        await client.query(`drop owned by ${name}; drop role ${name}`)
      })
      const troubles: unknown[] = []
      const inbox = open({ pool, observer: { trouble: ({ error }) => troubles.push(error) } })
      const refused = {
        code: 'config_invalid',
        message: expect.stringContaining(`the role ${name} may not use the table inbox_`),
        hint: expect.stringContaining('--print-sql'),
      }
      await expect(inbox.ready()).rejects.toMatchObject(refused)
      const workers = inbox.work({ handle: async () => {} })
      await until(() => troubles.length > 0)
      await expect(inbox.put(deliveryWithId(idOf(1)))).rejects.toMatchObject(refused)
      await client.query(`grant delete on all tables in schema ${schema} to ${name}`)
      await until(() =>
        inbox.ready().then(
          () => true,
          () => false,
        ),
      )
      expect(await inbox.put(deliveryWithId(idOf(1)))).toBe('stored')
      await until(async () => (await inbox.stats()).done === 1)
      await workers.close()
      expect(troubles).toEqual([expect.objectContaining(refused)])
    })

    it('stores a delivery durably, even if the server is configured not to wait for the disk', async () => {
      const name = `${schema}_async`
      await client.query(
        `create role ${name} superuser login; alter role ${name} set synchronous_commit = off`,
      )
      const url = new URL(connectionString)
      Object.assign(url, { username: name, password: '' })
      const pool = new pg.Pool({ connectionString: url.href, max: 1 })
      onTestFinished(async () => {
        await pool.end()
        await client.query(`drop role ${name}`)
      })
      const inbox = open({ pool })
      await inbox.stats()
      // A trigger sees the setting with which its statement will be committed.
      await client.query(`create table ${schema}.seen (setting text);
        create function ${schema}.note() returns trigger language plpgsql as
          $$ begin insert into ${schema}.seen values (current_setting('synchronous_commit')); return null; end $$;
        create trigger note after insert or update on ${schema}.inbox_task
          for each row execute function ${schema}.note()`)
      onTestFinished(async () => {
        await client.query(`drop function ${schema}.note() cascade`)
      })
      await inbox.put(deliveryWithId(idOf(1)))
      inbox.work({ handle: async () => {} })
      await until(async () => (await inbox.stats()).done === 1)
      const { rows } = await client.query(
        `select setting, count(*)::int from ${schema}.seen group by setting`,
      )
      expect(rows).toEqual([{ setting: 'on', count: 3 }]) // put, take and end
      expect((await pool.query('show synchronous_commit')).rows).toEqual([{ synchronous_commit: 'off' }])
    })

    it('the schema of duplicates is dropped: one error, then claims succeed', async () => {
      const duplicatesSchema = `${schema}_duplicates`
      const store = createPostgresDuplicates({ connectionString, schema: duplicatesSchema })
      try {
        expect(await store.claim(idOf(1))).toBe('claimed')
        await client.query(`drop schema ${duplicatesSchema} cascade`)
        await until(() =>
          store.claim(idOf(2)).then(
            (claim) => claim === 'claimed',
            () => false,
          ),
        )
      } finally {
        await store.close()
        await client.query(`drop schema if exists ${duplicatesSchema} cascade`)
      }
    })
  })
})

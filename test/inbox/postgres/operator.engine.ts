import { createPostgresDuplicates } from 'geohook/postgres'
import { describe, expect, it } from 'vitest'
import { until } from '../../contract/inbox/fixture.ts'
import { describeWith, POSTGRES } from '../../helpers/services.ts'
import { deliveryWithId, idOf } from '../deliveries.ts'
import { useSchema } from './fixture.ts'

await describeWith(POSTGRES, (connectionString) => {
  describe('an operator changes the tables of an inbox', () => {
    const { schema, client, queueName, open, withBoss } = useSchema(connectionString, 'operator')

    /** Drops the schema. Retries if PostgreSQL reports a deadlock between this statement and the inbox. */
    const dropSchema = () =>
      until(() =>
        client.query(`drop schema ${schema} cascade`).then(
          () => true,
          ({ code }) => code !== '40P01',
        ),
      )

    it.each([
      ['the queue is removed', () => withBoss((boss, queue) => boss.deleteQueue(queue))],
      ['the schema is dropped', dropSchema],
    ])('%s: the inbox accepts only deliveries that it stores, and recovers', async (_, remove) => {
      const inbox = open()
      const handled: string[] = []
      expect(await inbox.put(deliveryWithId(idOf(1)))).toBe('stored')
      inbox.work({ handle: async ({ id }) => void handled.push(id) })
      await until(() => handled.length === 1)
      await remove()
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
    })

    it('the table of generations is dropped: one call fails, and the next one creates the table', async () => {
      const { generations } = open()
      await generations.raise('https://gis.example.com/a', new Map([[0, 3]]))
      await client.query(`drop table ${schema}.generations`)
      await expect(generations.get('https://gis.example.com/a')).rejects.toThrow('generations')
      expect(await generations.get('https://gis.example.com/a')).toEqual(new Map())
      await generations.raise('https://gis.example.com/a', new Map([[0, 4]]))
      expect(await generations.get('https://gis.example.com/a')).toEqual(new Map([[0, 4]]))
    })

    it('rejects tables of a newer pg-boss with an error that names both versions and the fix', async () => {
      const inbox = open()
      await inbox.stats()
      const { rows } = await client.query(`select version from ${schema}.version`)
      await client.query(`update ${schema}.version set version = 9999`)
      try {
        const newer = open()
        const rejected = {
          code: 'config_invalid',
          message: expect.stringMatching(
            new RegExp(`${schema}.* version 9999.* at most ${rows[0].version}$`),
          ),
          hint: expect.stringContaining('Install the pg-boss that the other processes use'),
        }
        await expect(newer.stats()).rejects.toMatchObject(rejected)
        await expect(newer.put(deliveryWithId(idOf(3)))).rejects.toMatchObject(rejected)
      } finally {
        await client.query(`update ${schema}.version set version = ${rows[0].version}`)
      }
      expect(await open().put(deliveryWithId(idOf(3)))).toBe('stored')
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

    it.each(['short', 'singleton', 'stately', 'exclusive'] as const)(
      'rejects a queue with the policy %s',
      async (policy) => {
        await withBoss((boss, queue) => boss.createQueue(queue, { policy }))
        const inbox = open()
        for (const call of [() => inbox.put(deliveryWithId(idOf(1))), () => inbox.stats()])
          await expect(call()).rejects.toMatchObject({
            code: 'config_invalid',
            message: expect.stringContaining(`policy ${policy}`),
          })
      },
    )

    it('the queue is replaced by one with a policy: deliveries that pg-boss drops are rejected', async () => {
      const inbox = open()
      await inbox.put(deliveryWithId(idOf(1)))
      await withBoss(async (boss, queue) => {
        await boss.deleteQueue(queue)
        await boss.createQueue(queue, { policy: 'short' })
      })
      expect(await inbox.put(deliveryWithId(idOf(2)))).toBe('stored')
      await expect(inbox.put(deliveryWithId(idOf(3)))).rejects.toThrow('stored nothing')
      await expect(inbox.put(deliveryWithId(idOf(3)))).rejects.toThrow('policy short')
    })

    it.each([
      ['{}', '{}'],
      ['null', 'null'],
      ['a number', '5'],
      ['a list', '[]'],
      [
        'a head that is not JSON',
        '{"id":"1","head":"{","body":"","changeTypes":"[","receivedAt":1,"size":1}',
      ],
      ['a body that is not a string', '{"head":"{}","body":{"length":9},"changeTypes":5,"receivedAt":1}'],
      ['an invalid time', '{"head":"{}","body":"","changeTypes":"[5]","receivedAt":"soon"}'],
    ])('a job with %s as its data becomes a dead letter, and the others are handled', async (_, data) => {
      const troubles: unknown[] = []
      const observer = { trouble: ({ error }: { error: unknown }) => troubles.push(error) }
      // The lease is so long that it does not expire during the test.
      const inbox = open({ attempts: 2, lease: 600_000, observer })
      for (const digit of [1, 2, 3]) await inbox.put(deliveryWithId(idOf(digit)))
      await client.query(`update ${schema}.job set data = $3 where name = $1 and id = $2`, [
        queueName(),
        idOf(2),
        data,
      ])
      expect((await inbox.stats()).waiting).toBe(3)
      expect((await inbox.list()).entries.map(({ id }) => id)).toEqual([1, 2, 3].map(idOf))
      const handled: string[] = []
      inbox.work({ handle: async ({ id }) => void handled.push(id) })
      await until(async () => (await inbox.stats()).dead === 1)
      await until(async () => (await inbox.stats()).done === 2)
      expect(handled.sort()).toEqual([idOf(1), idOf(3)])
      const [letter] = (await inbox.list({ state: 'dead' })).entries
      expect(letter).toMatchObject({ id: idOf(2), attempts: 1, endedAt: expect.any(Date) })
      expect(letter?.error).toContain('cannot be read')
      expect(letter?.changeTypes.every((type) => typeof type === 'string')).toBe(true)
      expect(Number.isFinite(letter?.receivedAt.getTime())).toBe(true)
      expect(await inbox.get(idOf(2))).toMatchObject({ ...letter, delivery: { id: idOf(2) } })
      expect(troubles.map(String)).toEqual([expect.stringContaining('cannot be read')])
      // A retry fails in the same way. After that, the dead letter can be discarded.
      expect(await inbox.retry(idOf(2))).toBe(true)
      await until(() => troubles.length === 2)
      await until(async () => (await inbox.get(idOf(2)))?.state === 'dead')
      expect(await inbox.discard(idOf(2))).toBe(true)
    })

    it('a job of another program becomes a dead letter immediately', async () => {
      const troubles: unknown[] = []
      const inbox = open({ observer: { trouble: ({ error }) => troubles.push(error) } })
      await inbox.stats()
      await withBoss((boss, queue) => boss.send(queue, {}, { retryLimit: 9 }))
      const workers = inbox.work({ handle: async () => {} })
      await until(async () => (await inbox.stats()).dead === 1)
      await workers.close()
      expect(troubles).toHaveLength(1)
    })
  })
})

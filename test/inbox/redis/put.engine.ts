import { randomBytes } from 'node:crypto'
import type { DurableInbox } from 'geohook/inbox'
import { createRedisInbox } from 'geohook/redis'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { until } from '../../contract/inbox/fixture.ts'
import { createPrivateRedis, findRedis, type PrivateRedis } from '../../helpers/private-redis.ts'
import { describeWith } from '../../helpers/services.ts'
import { deliveryWithId, idOf } from '../deliveries.ts'
import { REDIS_SERVER } from './private-server.ts'

const newDelivery = () => deliveryWithId(randomBytes(16).toString('hex'))

// The tests use a private server, because they count its commands and flush its script cache.
await describeWith(REDIS_SERVER, () => {
  describe('put() of a Redis inbox', () => {
    let server: PrivateRedis
    let inbox: DurableInbox
    let number = 0
    beforeAll(async () => {
      server = await createPrivateRedis(findRedis() ?? 'redis-server')
      await server.start()
    })
    afterAll(() => server?.remove())
    const open = (options = {}) =>
      createRedisInbox({
        url: server.url,
        prefix: `puts-${number}`,
        observer: { failed() {}, dead() {}, trouble() {} },
        ...options,
      })
    beforeEach(() => {
      number++
      inbox = open()
    })
    afterEach(() => inbox.close())

    /** Returns the number of scripts and transactions that clients have run. */
    async function countCalls(): Promise<number> {
      const info = String(await server.command('INFO', 'commandstats'))
      const calls = [...info.matchAll(/^cmdstat_(?:eval|evalsha|exec):calls=(\d+)/gm)]
      return calls.reduce((sum, [, count]) => sum + Number(count), 0)
    }

    it('runs little more than one script per delivery', async () => {
      await inbox.put(newDelivery())
      const before = await countCalls()
      const puts = await Promise.all(Array.from({ length: 500 }, () => inbox.put(newDelivery())))
      expect(new Set(puts)).toEqual(new Set(['stored']))
      // Redis runs one script per added job, and a few more scripts that count the pending jobs.
      expect((await countCalls()) - before).toBeLessThan(500 * 1.3)
    })

    it('has a separate result for each delivery: stored, duplicate, or an error for an unusable key', async () => {
      await inbox.put(deliveryWithId(idOf(1)))
      await server.command('SET', `puts-${number}:inbox:delivery-${idOf(3)}`, 'not a job')
      const ids = [2, 1, 3, 4, 2, 5].map(idOf)
      const results = await Promise.allSettled(ids.map((id) => inbox.put(deliveryWithId(id))))
      expect(results.map((result) => (result.status === 'fulfilled' ? result.value : 'error'))).toEqual([
        ...['stored', 'duplicate', 'error', 'stored', 'duplicate', 'stored'],
      ])
      expect((await inbox.stats()).waiting).toBe(4)
    })

    it('stores each delivery once if several processes put it concurrently', async () => {
      const inboxes = Array.from({ length: 4 }, () => open())
      const ids = Array.from({ length: 50 }, () => newDelivery().id)
      const puts = await Promise.all(
        inboxes.flatMap((opened) => ids.map((id) => opened.put(deliveryWithId(id)))),
      )
      await Promise.all(inboxes.map((opened) => opened.close()))
      expect(puts.filter((result) => result === 'stored')).toHaveLength(50)
      expect((await inbox.stats()).waiting).toBe(50)
      expect((await inbox.list()).entries.every(({ changeTypes }) => changeTypes.length === 1)).toBe(true)
    })

    it('continues after Redis has dropped its script cache, and reports only stored deliveries as stored', async () => {
      const first = newDelivery()
      await inbox.put(first)
      await server.command('SCRIPT', 'FLUSH')
      const later = [newDelivery(), newDelivery()]
      for (const delivery of later) await inbox.put(delivery).catch(() => {})
      // Retry through another inbox, because the retry of a sender may reach another process.
      const other = open()
      for (const delivery of later) await other.put(delivery)
      await other.close()
      expect((await inbox.stats()).waiting).toBe(3)
      for (const { id } of [first, ...later]) expect((await inbox.get(id))?.delivery.rawBody.length).toBe(2)
    })

    it('returns the right results and writes the entries after Redis has dropped its script cache', async () => {
      await inbox.put(newDelivery())
      await server.command('SCRIPT', 'FLUSH')
      const delivery = newDelivery()
      expect(await inbox.put(delivery)).toBe('stored')
      expect(await inbox.put(delivery)).toBe('duplicate')
      const { entries } = await inbox.list()
      expect(entries.map(({ size, changeTypes }) => [size, changeTypes.length])).toEqual(
        Array(2).fill([2, 1]),
      )
    })

    it('stores a delivery whose key holds a hash that is not a job, even for concurrent calls', async () => {
      const delivery = newDelivery()
      const key = `puts-${number}:inbox:delivery-${delivery.id}`
      await server.command('HSET', key, 'stc', '1')
      const puts = await Promise.all([inbox.put(delivery), inbox.put(delivery), inbox.put(newDelivery())])
      expect(puts.sort()).toEqual(['duplicate', 'stored', 'stored'])
      expect((await inbox.stats()).waiting).toBe(2)
      expect((await inbox.get(delivery.id))?.delivery.rawBody.length).toBe(2)
    })

    it('stores a delivery as a BullMQ job with the name `delivery`', async () => {
      const delivery = newDelivery()
      await inbox.put(delivery)
      const key = `puts-${number}:inbox:delivery-${delivery.id}`
      expect(await server.command('HGET', key, 'name')).toBe('delivery')
    })

    it.each([
      ['cached', async () => {}],
      ['not cached', () => server.command('SCRIPT', 'FLUSH')],
    ])(
      'rejects if Redis refuses a command before the job is queued, and stores the retry: the script is %s',
      async (_, prepare) => {
        await inbox.put(newDelivery())
        await prepare()
        await server.command(
          'ACL',
          'SETUSER',
          'plain',
          'on',
          '>word',
          '~*',
          '&*',
          '+@all',
          '-lpush',
          '-rpush',
        )
        const refused = open({ url: server.url.replace(/:[^:@]*@/, 'plain:word@') })
        const delivery = newDelivery()
        const puts = await Promise.allSettled([1, 2].map(() => refused.put(delivery)))
        expect(puts.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
        await expect(refused.put(delivery)).rejects.toThrow('The user executing the script')
        await refused.close()
        expect(await inbox.put(delivery)).toBe('stored')
        expect((await inbox.get(delivery.id))?.state).toBe('waiting')
        expect((await inbox.stats()).waiting).toBe(2)
      },
    )

    it('keeps a job that was queued before Redis refused a command, and handles it once', async () => {
      await server.command('ACL', 'SETUSER', 'plain', 'on', '>word', '~*', '&*', '+@all', '-zadd')
      const refused = open({ url: server.url.replace(/:[^:@]*@/, 'plain:word@') })
      const delivery = newDelivery()
      await expect(refused.put(delivery)).rejects.toThrow('The user executing the script')
      await refused.close()
      expect(await inbox.put(delivery)).toBe('duplicate')
      const handled: string[] = []
      const workers = inbox.work({ handle: async ({ id }) => void handled.push(id) })
      await until(async () => (await inbox.stats()).done === 1)
      await workers.close()
      expect(handled).toEqual([delivery.id])
    })

    it('list() reads the entries of the page and one more, even if they are in several states', async () => {
      for (let index = 0; index < 4; index++) await inbox.put(newDelivery())
      const workers = inbox.work({ handle: async () => {} })
      await until(async () => (await inbox.stats()).done === 4)
      await workers.close()
      for (let index = 0; index < 20; index++) await inbox.put(newDelivery())
      const before = await countReads()
      const { entries } = await inbox.list({ limit: 6 })
      expect(entries.map(({ state }) => state).sort()).toEqual([
        ...Array(4).fill('done'),
        'waiting',
        'waiting',
      ])
      expect((await countReads()) - before).toBe(7)

      async function countReads(): Promise<number> {
        const info = String(await server.command('INFO', 'commandstats'))
        return Number(/^cmdstat_hmget:calls=(\d+)/m.exec(info)?.[1] ?? 0)
      }
    })

    it('does not report a duplicate when the inbox is full if the key holds no job', async () => {
      const full = open({ maxPending: 1 })
      await full.put(newDelivery())
      const delivery = newDelivery()
      await server.command('HSET', `puts-${number}:inbox:delivery-${delivery.id}`, 'stc', '1')
      await expect(full.put(delivery)).rejects.toThrow('full')
      await full.close()
    })
  })
})

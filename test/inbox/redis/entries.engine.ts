import { describe, expect, it } from 'vitest'
import { until } from '../../contract/inbox/fixture.ts'
import { createGate } from '../../helpers/gate.ts'
import { describeWith, REDIS } from '../../helpers/services.ts'
import { deliveryOf } from '../deliveries.ts'
import { usePrefix } from './fixture.ts'

await describeWith(REDIS, (url) => {
  const { client, prefixOfTest, keyOf, open, takeOver } = usePrefix(url)

  describe('the entries of an inbox in Redis', () => {
    it('a delivery that was never attempted is due since its receipt', async () => {
      const inbox = open()
      const delivery = deliveryOf()
      await inbox.put(delivery)
      const { receivedAt } = delivery
      expect((await inbox.list()).entries).toMatchObject([{ receivedAt, dueAt: receivedAt, attempts: 0 }])
      expect(await inbox.get(delivery.id)).toMatchObject({ receivedAt, dueAt: receivedAt, attempts: 0 })
    })

    it('list() omits a delivery that is removed between the reads of its list and its job', async () => {
      const inbox = open()
      const [first, removed, last] = [deliveryOf(), deliveryOf(), deliveryOf()]
      for (const delivery of [first, removed, last]) await inbox.put(delivery)
      await client.del(keyOf(removed.id))
      const { entries } = await inbox.list()
      expect(entries.map(({ id }) => id).sort()).toEqual([first.id, last.id].sort())
    })

    it('retry() of a delivery that is waiting and due returns true', async () => {
      const inbox = open()
      const { id } = deliveryOf()
      expect(await inbox.retry(id)).toBe(false)
      await inbox.put({ ...deliveryOf(), id })
      expect(await inbox.retry(id)).toBe(true)
      expect((await inbox.get(id))?.state).toBe('waiting')
    })

    it('retry() and discard() return false if the delivery is removed or taken meanwhile', async () => {
      const inbox = open({ attempts: 1 })
      const [removed, taken] = [deliveryOf(), deliveryOf()]
      await inbox.put(removed)
      const workers = inbox.work({ handle: () => Promise.reject(new Error('no service')) })
      await until(async () => (await inbox.stats()).dead === 1)
      await workers.close()
      // BullMQ still lists the job as failed, but its data is gone.
      await client.del(keyOf(removed.id))
      expect(await inbox.retry(removed.id)).toBe(false)
      // BullMQ still lists the job as waiting, but a worker holds its lease.
      await inbox.put(taken)
      await takeOver(taken.id)
      expect(await inbox.discard(taken.id)).toBe(false)
      expect((await inbox.get(taken.id))?.state).toBe('waiting')
    })

    it('purge() removes all ended deliveries, even if they are many', async () => {
      const inbox = open()
      await inbox.put(deliveryOf())
      const workers = inbox.work({ handle: async () => {} })
      await until(async () => (await inbox.stats()).done === 1)
      await workers.close()
      const adding = client.pipeline()
      for (let number = 0; number < 1_100; number++) {
        adding.hset(keyOf(`${number}`), 'timestamp', 1, 'finishedOn', number, 'data', '{}')
        adding.zadd(`${prefixOfTest()}:inbox:completed`, number, `delivery-${number}`)
      }
      await adding.exec()
      expect(await inbox.purge({ state: 'done', olderThan: 0 })).toBe(1_101)
      expect((await inbox.stats()).done).toBe(0)
    })

    it('maxPending limits the waiting and the active deliveries together', async () => {
      const inbox = open()
      const { gate, release } = createGate()
      await inbox.put(deliveryOf())
      inbox.work({ handle: () => gate }, { concurrency: 1 })
      await until(async () => (await inbox.stats()).active === 1)
      await inbox.put(deliveryOf())
      // The count of an inbox is at most 0.1 s old, so use a new inbox.
      const full = open({ maxPending: 2 })
      await expect(full.put(deliveryOf())).rejects.toThrow('the inbox is full: 2 deliveries are in it')
      release()
      await until(async () => (await inbox.stats()).done === 2)
    })
  })
})

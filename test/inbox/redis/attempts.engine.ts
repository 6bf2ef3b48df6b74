import { describe, expect, it } from 'vitest'
import { until } from '../../contract/inbox/fixture.ts'
import { blockEventLoop } from '../../helpers/block.ts'
import { createGate } from '../../helpers/gate.ts'
import { groupHandler } from '../../helpers/receiver-port.ts'
import { describeWith, REDIS } from '../../helpers/services.ts'
import { deliveryOf } from '../deliveries.ts'
import { usePrefix } from './fixture.ts'

const LOST = 'another process has taken the delivery over'

await describeWith(REDIS, (url) => {
  const { client, keyOf, open, openRecorded, takeOver, expireLeases } = usePrefix(url)

  describe('attempts of single deliveries in Redis', () => {
    it('renews the lease of a delivery in progress before it expires', async () => {
      const inbox = open({ lease: 8_000 })
      const delivery = deliveryOf()
      await inbox.put(delivery)
      const { gate, release } = createGate()
      inbox.work({ handle: () => gate })
      await until(async () => (await inbox.stats()).active === 1)
      let left = Number.POSITIVE_INFINITY
      await until(async () => {
        const before = left
        left = await client.pttl(`${keyOf(delivery.id)}:lock`)
        expect(left).toBeGreaterThan(0)
        return left > before
      })
      release()
      await until(async () => (await inbox.stats()).done === 1)
    })

    it('reports the duration of each attempt', async () => {
      const durations: number[] = []
      const note = ({ milliseconds }: { milliseconds: number }) => durations.push(milliseconds)
      const inbox = open({ observer: { handled: note, failed: note } })
      const started = performance.now()
      await inbox.put(deliveryOf())
      inbox.work({
        async handle(_, context) {
          if (context?.attempt === 1) throw new Error('no service')
        },
      })
      await until(() => durations.length === 2)
      for (const milliseconds of durations) {
        expect(milliseconds).toBeGreaterThan(0)
        expect(milliseconds).toBeLessThan(performance.now() - started)
      }
    })

    it('does not repeat a handler that is running when the worker takes its delivery again', async () => {
      const inbox = open({ lease: 1_000 })
      const [slow, quick] = [deliveryOf(), deliveryOf()]
      const { gate, release } = createGate()
      const begun: string[] = []
      await inbox.put(slow)
      inbox.work({
        async handle({ id }) {
          begun.push(id)
          if (id === slow.id) await gate
        },
      })
      await until(() => begun.length === 1)
      // Another attempt ends during the first.
      await inbox.put(quick)
      await until(async () => (await inbox.stats()).done === 1)
      const before = await client.get(`${keyOf(slow.id)}:lock`)
      await expireLeases([slow.id])
      await until(async () => ![null, before].includes(await client.get(`${keyOf(slow.id)}:lock`)))
      release()
      await until(async () => (await inbox.stats()).done === 2)
      expect(begun).toEqual([slow.id, quick.id])
    })

    it('aborts the signal of a handler if another process has already handled its delivery', async () => {
      const { inbox, ends } = openRecorded()
      const delivery = deliveryOf()
      const { id } = delivery
      await inbox.put(delivery)
      let begun = 0
      inbox.work(
        {
          async handle(_, context) {
            begun++
            await new Promise((resolve) => context?.signal.addEventListener('abort', resolve))
          },
        },
        { concurrency: 1 },
      )
      await until(() => begun === 1)
      await expireLeases([id])
      const other = openRecorded()
      other.inbox.work({ handle: async () => {} })
      await until(() => ends.has(id) && other.ends.has(id))
      expect([begun, ends.get(id), other.ends.get(id)]).toEqual([1, [`failed 1 ${LOST}`], ['handled 1']])
      expect(await inbox.get(id)).toMatchObject({ state: 'done', attempts: 1 })
    })

    it('reports a delivery that another process took while the handler blocked the event loop as failed', async () => {
      const { inbox, ends } = openRecorded()
      const delivery = deliveryOf()
      const { id } = delivery
      await inbox.put(delivery)
      let begun = 0
      inbox.work({
        async handle() {
          if (++begun > 1) return
          await takeOver(id)
          blockEventLoop(600)
        },
      })
      await until(() => ends.has(id))
      expect(ends.get(id)).toEqual([`failed 1 ${LOST}`])
      // The other process exits, and this process takes the delivery again.
      await expireLeases([id])
      await until(async () => (await inbox.stats()).done === 1)
      await until(() => ends.get(id)?.length === 2)
      expect([begun, ends.get(id)]).toEqual([2, [`failed 1 ${LOST}`, 'handled 1']])
    })

    it('takes no more deliveries than its concurrency, also after an attempt has ended', async () => {
      const { inbox, ends } = openRecorded({ lease: 30_000 })
      const deliveries = Array.from({ length: 10 }, () => deliveryOf())
      for (const delivery of deliveries) await inbox.put(delivery)
      const { gate, release } = createGate()
      let begun = 0
      inbox.work({ handle: () => (++begun === 1 ? Promise.resolve() : gate) }, { concurrency: 1 })
      await until(() => begun === 2)
      const other = openRecorded({ lease: 30_000 })
      const workers = other.inbox.work({ handle: async () => {} })
      await until(() => other.ends.size === 8)
      await workers.close()
      expect([begun, await inbox.stats()]).toMatchObject([2, { active: 1, waiting: 0 }])
      release()
      await until(() => ends.size === 2)
      expect([...ends.values(), ...other.ends.values()]).toEqual(deliveries.map(() => ['handled 1']))
    })

    it('takes only a few deliveries in advance with `coalesce` while all calls are in use', async () => {
      const { inbox, ends } = openRecorded({ lease: 30_000 })
      const { gate, release } = createGate()
      const other = openRecorded({ lease: 30_000 })
      const handle = () => gate.then(() => ['handled' as const])
      inbox.work(groupHandler(handle, handle), {
        concurrency: 1,
        coalesce: { by: 'service', wait: 1 },
      })
      // The deliveries have no service, so each of them needs a call of its own.
      for (let active = 1; active <= 2; active++) {
        await inbox.put(deliveryOf())
        await until(async () => (await inbox.stats()).active === active)
      }
      other.inbox.work({ handle: async () => {} })
      for (let number = 0; number < 21; number++) await inbox.put(deliveryOf())
      await until(async () => (await inbox.stats()).waiting === 0)
      // BullMQ may ask for one more delivery before it passes the previous one on.
      expect((await inbox.stats()).active).toBeLessThanOrEqual(4)
      release()
      await until(async () => (await inbox.stats()).done === 23)
      await until(() => ends.size + other.ends.size === 23)
      expect(new Set([...ends.values(), ...other.ends.values()].flat())).toEqual(new Set(['handled 1']))
    })
  })
})

import type { AttemptEnded, InboxEntry } from 'geohook/inbox'
import { describe, expect, it } from 'vitest'
import { until } from '../../contract/inbox/fixture.ts'
import { createGate } from '../../helpers/gate.ts'
import { groupHandler } from '../../helpers/receiver-port.ts'
import { describeWith, REDIS } from '../../helpers/services.ts'
import { deliveryOf, editOf } from '../deliveries.ts'
import { usePrefix } from './fixture.ts'

await describeWith(REDIS, (url) => {
  const { client, keyOf, prefixOfTest, open, suspect } = usePrefix(url)

  /** Creates a handler that records the deliveries and attempts, and then calls `handle`. */
  function recording(handle: (id: string, attempt: number) => unknown = () => {}) {
    const begun: [string, number][] = []
    type Context = { attempt: number }
    const handleOne = async ({ id }: { id: string }, { attempt }: Context) => {
      begun.push([id, attempt])
      await handle(id, attempt)
    }
    const receiver = groupHandler(async (deliveries, context) => {
      for (const delivery of deliveries) await handleOne(delivery, context as Context)
      return deliveries.map(() => 'handled' as const)
    }, handleOne)
    return { begun, receiver }
  }

  describe('suspects in Redis', () => {
    it('delays a suspect while another is in progress, but does not delay other deliveries', async () => {
      const inbox = open()
      const suspects = [deliveryOf(), deliveryOf()]
      for (const delivery of suspects) await inbox.put(delivery)
      for (const { id } of suspects) await suspect(id)
      const other = deliveryOf()
      await inbox.put(other)
      const { gate, release } = createGate()
      const { begun, receiver } = recording((id) => (id === other.id ? undefined : gate))
      const startedAt = Date.now()
      inbox.work(receiver, { concurrency: 3 })
      await until(async () => (await inbox.stats()).done === 1)
      // The worker takes the delayed one again and again, and delays it again.
      let delayed: InboxEntry | undefined
      await until(async () => {
        delayed = (await inbox.list({ state: 'waiting' })).entries[0]
        return delayed !== undefined
      })
      expect(begun.length).toBe(2)
      expect(delayed?.attempts).toBe(0)
      expect(delayed?.dueAt?.getTime()).toBeGreaterThanOrEqual(startedAt + 500)
      expect(delayed?.dueAt?.getTime()).toBeLessThanOrEqual(Date.now() + 1_000)
      const active = suspects.find(({ id }) => id !== delayed?.id)
      expect(await inbox.get(active?.id ?? '')).toMatchObject({ state: 'active', attempts: 1 })
      release()
      await until(async () => (await inbox.stats()).done === 3)
      expect(begun.map(([, attempt]) => attempt)).toEqual([1, 1, 1])
      for (const { id } of suspects) expect(await inbox.get(id)).toMatchObject({ attempts: 1 })
    })

    it('a suspect whose attempt fails without ending the process is not a suspect in its next attempt', async () => {
      const inbox = open({ attempts: 2 })
      const deliveries = [deliveryOf(), deliveryOf()]
      for (const delivery of deliveries) await inbox.put(delivery)
      for (const { id } of deliveries) await suspect(id)
      const { gate, release } = createGate()
      // The second attempts end only if they run at the same time.
      const { begun, receiver } = recording((_, attempt) => {
        if (attempt === 1) throw new Error('the first attempt')
        if (begun.length === 4) release()
        return gate
      })
      inbox.work(receiver, { concurrency: 2 })
      await until(async () => (await inbox.stats()).done === 2)
      expect(begun.map(([, attempt]) => attempt).sort()).toEqual([1, 1, 2, 2])
      for (const { id } of deliveries) expect(await inbox.get(id)).toMatchObject({ attempts: 2 })
    })

    it('with `coalesce`, at most 100 suspects wait for another, and close() delays them too', async () => {
      const inbox = open()
      const deliveries = Array.from({ length: 103 }, () => editOf())
      await Promise.all(deliveries.map((delivery) => inbox.put(delivery)))
      await Promise.all(deliveries.map(({ id }) => suspect(id)))
      const { gate, release } = createGate()
      const { begun, receiver } = recording(() => gate)
      const startedAt = Date.now()
      const workers = inbox.work(receiver, { coalesce: { by: 'service', wait: 1 } })
      // The worker takes all deliveries. It delays 2 or 3 of them, because the first may still count as waiting.
      await until(
        async () =>
          begun.length === 1 &&
          (await client.llen(`${prefixOfTest()}:inbox:wait`)) === 0 &&
          [2, 3].includes((await inbox.stats()).waiting),
      )
      const closing = workers.close()
      release()
      await closing
      expect(begun.length).toBe(1)
      expect(await inbox.stats()).toMatchObject({ waiting: 102, active: 0, done: 1 })
      const { entries } = await inbox.list({ state: 'waiting', limit: 200 })
      for (const { attempts, dueAt } of entries) {
        expect(attempts).toBe(0)
        expect(dueAt?.getTime()).toBeGreaterThanOrEqual(startedAt + 5_000)
        expect(dueAt?.getTime()).toBeLessThanOrEqual(Date.now() + 10_000)
      }
    })

    it('a suspect without attempts left becomes a dead letter, and its handler does not run', async () => {
      const dead: [number, string][] = []
      const observer = {
        dead: ({ attempt, error }: AttemptEnded & { error: unknown }) => dead.push([attempt, String(error)]),
      }
      const inbox = open({ attempts: 2, observer })
      const delivery = deliveryOf()
      await inbox.put(delivery)
      await client.hset(keyOf(delivery.id), 'stc', 1, 'atm', 2)
      const { begun, receiver } = recording()
      inbox.work(receiver)
      await until(() => dead.length === 1)
      expect(dead).toEqual([[3, 'Error: its process ended during the last attempt']])
      expect(await inbox.get(delivery.id)).toMatchObject({ state: 'dead', attempts: 2 })
      expect(begun).toEqual([])
      expect(await inbox.retry(delivery.id)).toBe(true)
      await until(async () => (await inbox.get(delivery.id))?.state === 'done')
      expect(begun).toEqual([[delivery.id, 1]])
      expect(await inbox.get(delivery.id)).toMatchObject({ attempts: 1 })
    })

    it('a suspect whose data cannot be read becomes a dead letter after one attempt', async () => {
      const inbox = open()
      const delivery = deliveryOf()
      await inbox.put(delivery)
      await suspect(delivery.id)
      await client.hset(keyOf(delivery.id), 'data', 'null')
      inbox.work(recording().receiver)
      await until(async () => (await inbox.stats()).dead === 1)
      const { entries } = await inbox.list()
      expect(entries).toMatchObject([{ attempts: 1, error: expect.stringContaining('cannot be read') }])
    })
  })
})

import type { AttemptContext } from 'geohook'
import { describe, expect, it } from 'vitest'
import { until } from '../../contract/inbox/fixture.ts'
import { createGate } from '../../helpers/gate.ts'
import { describeWith, POSTGRES } from '../../helpers/services.ts'
import { deliveryWithId, idOf } from '../deliveries.ts'
import { useSchema } from './fixture.ts'

await describeWith(POSTGRES, (connectionString) => {
  describe('attempts of one delivery in PostgreSQL', () => {
    const { schema, client, queueName, open, withBoss } = useSchema(connectionString, 'attempts')
    const id = idOf('e')

    it.each(['success', 'failure'])(
      'a late %s of an attempt whose lease expired does not end the newer attempt',
      async (end) => {
        const [gates, begun, ended] = [[createGate(), createGate()], [] as string[], [] as string[]]
        const openAs = (name: string) => {
          const notify = () => void ended.push(name)
          const inbox = open({ observer: { handled: notify, failed: notify, dead: notify, trouble: notify } })
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
        // Fail the job, as pg-boss does when a process sends no heartbeats. The first heartbeat is due only after
        // this test.
        await withBoss((boss, queue) => boss.fail(queue, id))
        second.inbox.work(second.handle as never, { concurrency: 1 })
        await until(() => begun.length === 2)
        gates[0]?.release()
        await until(() => ended.length === 1)
        expect(begun).toEqual(['first 1', 'second 2'])
        expect(ended).toEqual(['first'])
        expect(await second.inbox.get(id)).toMatchObject({ state: 'active', attempts: 2 })
        gates[1]?.release()
        await until(async () => (await second.inbox.get(id))?.state === 'done')
        expect(await second.inbox.get(id)).toMatchObject({ state: 'done', attempts: 2 })
      },
    )

    it('another worker of the inbox does not begin a delivery in progress, even if its lease has expired', async () => {
      const inbox = open()
      const held = createGate()
      const begun: [string, number | undefined][] = []
      const handle = async (delivery: { id: string }, context?: AttemptContext) => {
        begun.push([delivery.id, context?.attempt])
        if (delivery.id === id) await held.gate
      }
      await inbox.put(deliveryWithId(id))
      inbox.work({ handle }, { concurrency: 1 })
      await until(() => begun.length === 1)
      await withBoss((boss, queue) => boss.fail(queue, id))
      inbox.work({ handle }, { concurrency: 1 })
      await until(async () => (await inbox.get(id))?.attempts === 2)
      await inbox.put(deliveryWithId(idOf(1)))
      await until(async () => (await inbox.stats()).done === 1)
      held.release()
      await until(async () => (await inbox.get(id))?.state === 'done')
      expect(begun).toEqual([id, idOf(1)].map((one) => [one, 1]))
    })

    it('a delivery is done when its handler succeeds, even if a server crash reset its job', async () => {
      const inbox = open()
      const held = createGate()
      let begun = 0
      await inbox.put(deliveryWithId(id))
      inbox.work({
        async handle() {
          begun++
          await held.gate
        },
      })
      await until(() => begun === 1)
      // Reset the job to its state before the attempt. The later due time keeps the worker from taking it again.
      const { rowCount } = await client.query(
        `update ${schema}.job set state = 'created', started_on = null, heartbeat_on = null,
          start_after = now() + interval '1 hour' where name = $1 and id = $2`,
        [queueName(), id],
      )
      expect(rowCount).toBe(1)
      held.release()
      await until(async () => (await inbox.get(id))?.state === 'done')
      expect(begun).toBe(1)
    })

    it('a retried dead letter keeps its place in the queue, and gets the attempts of the inbox that stored it', async () => {
      const inbox = open({ attempts: 2 })
      let isGood = false
      const attempts: (number | undefined)[] = []
      const receiver = {
        async handle(_: unknown, context?: AttemptContext) {
          attempts.push(context?.attempt)
          if (!isGood) throw new Error('bad')
        },
      }
      const received = (seconds: number) => new Date(Date.UTC(2026, 0, 1, 0, 0, seconds))
      await inbox.put({ ...deliveryWithId(id), receivedAt: received(1) })
      const workers = inbox.work(receiver as never)
      await until(async () => (await inbox.stats()).dead === 1)
      await workers.close()
      await inbox.put({ ...deliveryWithId(idOf(2)), receivedAt: received(2) })
      await inbox.put({ ...deliveryWithId(idOf(3)), receivedAt: received(3) })
      expect((await inbox.stats()).oldest).toEqual(received(2))
      const before = await inbox.get(id)
      // Retry the dead letter through an inbox with other options.
      expect(await open({ attempts: 1 }).retry(id)).toBe(true)
      expect((await inbox.stats()).oldest).toEqual(received(1))
      expect((await inbox.list()).entries.map((entry) => entry.id)).toEqual([id, idOf(2), idOf(3)])
      const after = await inbox.get(id)
      expect(after).toMatchObject({ state: 'waiting', attempts: 0, dueAt: expect.any(Date) })
      expect(after).not.toHaveProperty('endedAt')
      expect(after?.delivery).toEqual(before?.delivery)
      for (const digit of [2, 3]) await inbox.discard(idOf(digit))
      inbox.work(receiver as never)
      await until(async () => (await inbox.stats()).dead === 1)
      isGood = true
      expect(await inbox.retry(id)).toBe(true)
      await until(async () => (await inbox.get(id))?.state === 'done')
      expect(attempts).toEqual([1, 2, 1, 2, 1])
    })
  })
})

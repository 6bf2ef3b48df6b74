import { createReceiver, type Delivery, type HandlerContext } from 'geohook'
import type { AttemptEnded } from 'geohook/inbox'
import { describe, expect } from 'vitest'
import { KEY } from '../../helpers/deliver.ts'
import { createGate } from '../../helpers/gate.ts'
import type { InboxEngineKind } from './engine.ts'
import { send, testInbox, until, work } from './fixture.ts'

/** Tests handlers, retries and dead letters. */
export function describeHandling(kind: InboxEngineKind): void {
  describe('workers', () => {
    const it = testInbox(kind)

    it('passes each decoded delivery to the handlers, with the number of the attempt', async ({ open }) => {
      const seen: [string, Delivery, HandlerContext][] = []
      const ended: unknown[] = []
      const inbox = open({
        observer: { handled: ({ delivery, attempt }) => ended.push([delivery.id, attempt]) },
      })
      const { id } = await send(inbox, 'FeaturesDeleted')
      work(inbox, (event, delivery, context) => seen.push([event.changeType, delivery, context]))
      await until(() => ended.length > 0)
      const [changeType, delivery, { attempt, signal }] = seen[0] ?? [
        '',
        {} as Delivery,
        {} as HandlerContext,
      ]
      expect([changeType, delivery.id, delivery.changeTypes]).toEqual([
        'FeaturesDeleted',
        id,
        ['FeaturesDeleted'],
      ])
      expect([attempt, signal.aborted]).toEqual([1, false])
      expect(ended).toEqual([[id, 1]])
      expect(await inbox.get(id)).toMatchObject({ state: 'done', attempts: 1, endedAt: expect.any(Date) })
    })

    it('handles deliveries that arrive while workers run', async ({ open }) => {
      const inbox = open()
      const handled: string[] = []
      work(inbox, (_, { id }) => handled.push(id))
      const ids = []
      for (let i = 0; i < 20; i++) ids.push((await send(inbox)).id)
      await until(() => handled.length >= 20)
      expect(handled.sort()).toEqual(ids.sort())
    })

    it('retries a failed delivery, and reports the error of each attempt', async ({ open }) => {
      const failures: [number, unknown][] = []
      const inbox = open({ observer: { failed: ({ attempt, error }) => failures.push([attempt, error]) } })
      const { id } = await send(inbox)
      const attempts: number[] = []
      work(inbox, (_, __, { attempt }) => {
        attempts.push(attempt)
        if (attempt < 3) throw new TypeError(`no database ${attempt}`)
      })
      await until(async () => (await inbox.get(id))?.state === 'done')
      expect(attempts).toEqual([1, 2, 3])
      expect(failures.map(([attempt]) => attempt)).toEqual([1, 2])
      expect(failures[0]?.[1]).toMatchObject({ name: 'TypeError', message: 'no database 1' })
      expect(await inbox.get(id)).toMatchObject({ attempts: 3 })
    })

    it('lists the due time of the next attempt and the last error', async ({ open }) => {
      const inbox = open({ retryDelay: 600_000, maxRetryDelay: 600_000 })
      const { id } = await send(inbox)
      work(inbox, () => {
        throw new RangeError('caf\u00e9 \0 \ud800 is down')
      })
      await until(async () => (await inbox.get(id))?.error !== undefined)
      await until(async () => (await inbox.get(id))?.state === 'waiting')
      const entry = await inbox.get(id)
      expect(entry?.error).toContain('RangeError: caf\u00e9')
      expect((entry?.dueAt?.getTime() ?? 0) - Date.now()).toBeGreaterThan(200_000)
      expect((await inbox.stats()).oldest).toEqual(entry?.receivedAt)
    })

    it('moves a delivery to the dead letters after its last attempt; retry() gives it all attempts again', async ({
      open,
    }) => {
      const dead: number[] = []
      const errors: unknown[] = []
      const inbox = open({
        attempts: 2,
        observer: {
          failed: ({ error }) => errors.push(error),
          dead({ attempt, error }) {
            dead.push(attempt)
            errors.push(error)
          },
        },
      })
      const { id } = await send(inbox)
      let isGood = false
      const attempts: number[] = []
      const error = new Error('x'.repeat(5_000))
      work(inbox, (_, __, { attempt }) => {
        attempts.push(attempt)
        if (!isGood) throw error
      })
      await until(async () => (await inbox.get(id))?.state === 'dead')
      await until(() => dead.length === 1)
      expect([attempts, dead]).toEqual([[1, 2], [2]])
      expect([errors[0] === error, errors[1] === error]).toEqual([true, true])
      const letter = await inbox.get(id)
      expect(letter).toMatchObject({ attempts: 2, endedAt: expect.any(Date) })
      expect(letter?.error).toContain('Error: xxx')
      expect(letter?.error?.length).toBeLessThanOrEqual(2_000)
      expect((await inbox.list({ state: 'dead' })).entries.map((entry) => entry.id)).toEqual([id])
      expect(await inbox.stats()).toMatchObject({ waiting: 0, active: 0, done: 0, dead: 1 })

      expect(await inbox.retry(id)).toBe(true)
      await until(() => dead.length === 2)
      await until(async () => (await inbox.get(id))?.state === 'dead')
      expect(attempts).toEqual([1, 2, 1, 2])

      isGood = true
      expect(await inbox.retry(id)).toBe(true)
      await until(async () => (await inbox.get(id))?.state === 'done')
      expect((await inbox.list({ state: 'done' })).entries.map((entry) => entry.id)).toEqual([id])
      expect([await inbox.retry(id), await inbox.discard(id)]).toEqual([false, true])
    })

    it('discards a dead letter and a waiting delivery, but not an active one', async ({ open }) => {
      const inbox = open({ attempts: 1 })
      const bad = await send(inbox, 'Bad')
      const { gate, release } = createGate()
      const workers = work(
        inbox,
        (event) => {
          if (event.changeType === 'Bad') throw new Error('bad')
          return gate
        },
        { concurrency: 1 },
      )
      await until(async () => (await inbox.get(bad.id))?.state === 'dead')
      const busy = await send(inbox, 'Slow')
      await until(async () => (await inbox.get(busy.id))?.state === 'active')
      const waiting = await send(inbox, 'Slow')
      expect([await inbox.discard(busy.id), await inbox.retry(busy.id)]).toEqual([false, false])
      expect([await inbox.discard(bad.id), await inbox.discard(waiting.id)]).toEqual([true, true])
      expect([await inbox.get(bad.id), await inbox.get(waiting.id)]).toEqual([undefined, undefined])
      release()
      await workers.close()
      expect(await inbox.stats()).toMatchObject({ waiting: 0, active: 0, done: 1, dead: 0 })
    })

    it('retry() makes a waiting delivery due now', async ({ open }) => {
      const inbox = open({ retryDelay: 600_000, maxRetryDelay: 600_000 })
      const { id } = await send(inbox)
      work(inbox, (_, __, { attempt }) => {
        if (attempt === 1) throw new Error('once')
      })
      await until(async () => {
        const entry = await inbox.get(id)
        return entry?.state === 'waiting' && entry.attempts === 1
      })
      expect(await inbox.retry(id)).toBe(true)
      await until(async () => (await inbox.get(id))?.state === 'done')
      expect((await inbox.get(id))?.attempts).toBe(2)
    })

    it('says whether the receivers of all workers handle a change type', async ({ open }) => {
      const inbox = open()
      expect(inbox.handles?.('FeaturesCreated')).toBeUndefined()
      const workers = inbox.work(createReceiver({ signatureKey: KEY }).on('FeaturesEdited', () => {}))
      expect(inbox.handles?.('FeaturesCreated')).toBe(true)
      expect(inbox.handles?.('JobDone')).toBe(false)
      const others = work(inbox, () => {})
      expect(inbox.handles?.('JobDone')).toBe(false)
      await workers.close()
      expect(inbox.handles?.('JobDone')).toBe(true)
      await others.close()
      expect(inbox.handles?.('JobDone')).toBeUndefined()
    })

    it('moves a delivery to the dead letters if the receiver has no handlers', async ({ open }) => {
      const inbox = open({ attempts: 1 })
      await send(inbox)
      inbox.work(createReceiver({ signatureKey: KEY })) // without handlers
      await until(async () => (await inbox.stats()).dead === 1)
      const [entry] = (await inbox.list({ state: 'dead' })).entries
      expect(entry?.error).toContain('handle() needs a handler')
    })

    if (kind.isShared) {
      it('shares deliveries with another process, and handles each once', async ({ open }) => {
        const [first, second] = [open(), open()]
        const handled: string[] = []
        for (const inbox of [first, second]) work(inbox, (_, { id }) => handled.push(id), { concurrency: 8 })
        const ids: string[] = []
        await Promise.all(
          Array.from({ length: 60 }, async (_, i) => ids.push((await send(i % 2 ? first : second)).id)),
        )
        await until(async () => (await first.stats()).done === 60)
        expect(handled.sort()).toEqual(ids.sort())
      })

      it('reports a success as failed if another process has taken the delivery meanwhile', async ({
        open,
        endLeases,
      }) => {
        const ended: string[] = []
        const note = (name: string) => (event: AttemptEnded) => void ended.push(`${name} ${event.attempt}`)
        const observerOf = (name: string) => ({
          handled: note(`${name} handled`),
          failed: note(`${name} failed`),
        })
        const [first, second] = [
          open({ observer: observerOf('first') }),
          open({ observer: observerOf('second') }),
        ]
        const { gate, release } = createGate()
        let begun = 0
        const { id } = await send(first)
        work(first, () => {
          begun++
          return gate
        })
        await until(() => begun === 1)
        work(second, () => {})
        await until(async () => {
          await endLeases() // again, in case that a heartbeat renewed the lease
          return ended.length > 0
        })
        release()
        await until(() => ended.length === 2)
        expect(ended.sort()).toEqual(['first failed 1', 'second handled 1'])
        expect(await first.get(id)).toMatchObject({ state: 'done', attempts: 1 })
        expect((await first.get(id))?.error).toBeUndefined()
      })
    }
  })
}

import { createReceiver } from 'geohook'
import type { DurableInbox } from 'geohook/inbox'
import { describe, expect } from 'vitest'
import { KEY } from '../../helpers/deliver.ts'
import { createGate } from '../../helpers/gate.ts'
import type { InboxEngineKind } from './engine.ts'
import { send, testInbox, until, work } from './fixture.ts'

/** Tests the settings of a queue, which an operator changes for all processes. */
export function describeOperating(kind: InboxEngineKind): void {
  describe('settings', () => {
    const it = testInbox(kind).extend<{
      openOther(inbox: DurableInbox): DurableInbox
      passTurns(): Promise<void>
    }>({
      /** Opens the inbox as another process would, if the engine can. */
      openOther: ({ open }, use) => use((inbox) => (kind.isShared ? open() : inbox)),
      /** Waits until the workers of another store have taken deliveries: those of this test had their turns, too. */
      // biome-ignore lint/correctness/noEmptyPattern: Vitest requires a pattern
      passTurns: async ({}, use) => {
        const engine = await kind.create()
        const inbox = engine.open()
        await use(async () => {
          const { workers, handled } = workOn(inbox)
          for (let number = 1; number <= 3; number++) {
            await send(inbox)
            await until(() => handled.length === number)
          }
          await workers.close()
        })
        await inbox.close()
        await engine.remove()
      },
    })

    /** Starts workers, and returns the ids that they handle. */
    function workOn(inbox: DurableInbox, gate?: Promise<void>, concurrency?: number) {
      const handled: string[] = []
      const handler = async (_: unknown, { id }: { id: string }) => {
        handled.push(id)
        await gate
      }
      return { handled, workers: work(inbox, handler, { concurrency }) }
    }

    it('a paused inbox stores deliveries, and no process takes them until resume()', async ({
      open,
      openOther,
      passTurns,
    }) => {
      const inbox = open()
      const other = openOther(inbox)
      const { gate, release } = createGate()
      const first = await send(inbox)
      const { handled } = workOn(inbox, gate, 1)
      await until(() => handled.length === 1)
      await other.pause()
      const second = await send(inbox)
      expect(second.status).toBe(202)
      const started = workOn(other)
      release()
      await until(async () => (await inbox.get(first.id))?.state === 'done')
      await passTurns()
      expect([handled, started.handled]).toEqual([[first.id], []])
      expect(await other.get(second.id)).toMatchObject({ state: 'waiting', attempts: 0 })
      expect(await inbox.stats()).toMatchObject({ waiting: 1, done: 1, paused: true })
      await other.resume()
      await until(async () => (await inbox.get(second.id))?.state === 'done')
      expect([...handled, ...started.handled]).toEqual([first.id, second.id])
      expect(await inbox.stats()).toMatchObject({ paused: false })
    })

    it('a paused inbox keeps unhandled deliveries until resume()', async ({ open, openOther, passTurns }) => {
      const inbox = open()
      const { id } = await send(inbox)
      const older = inbox.work(createReceiver({ signatureKey: KEY }).on('Other', () => {}))
      await until(async () => (await inbox.get(id))?.state === 'unhandled')
      await older.close()
      await openOther(inbox).pause()
      const { handled } = workOn(inbox)
      await passTurns()
      expect(await inbox.get(id)).toMatchObject({ state: 'unhandled', attempts: 0 })
      await openOther(inbox).resume()
      await until(async () => (await inbox.get(id))?.state === 'done')
      expect(handled).toEqual([id])
    })

    it.runIf(kind.isShared)(
      'a paused inbox keeps suspects until resume()',
      async ({ open, endLeases, passTurns }) => {
        const [inbox, other] = [open(), open()]
        const { gate, release } = createGate()
        const { id } = await send(inbox)
        const hung = workOn(inbox, gate)
        await until(() => hung.handled.length === 1)
        await other.pause()
        await endLeases()
        const { handled } = workOn(other)
        await passTurns()
        expect([handled, (await other.get(id))?.state]).toEqual([[], 'active'])
        await other.resume()
        await until(async () => (await other.get(id))?.state === 'done')
        expect(handled).toEqual([id])
        release()
      },
    )

    it('setConcurrency() replaces the concurrency of each work() while it runs', async ({
      open,
      openOther,
    }) => {
      const inbox = open()
      const other = openOther(inbox)
      const { gate, release } = createGate()
      for (let number = 0; number < 9; number++) await send(inbox)
      const [first, second] = [workOn(inbox, gate, 1), workOn(other, gate, 1)]
      await until(() => first.handled.length + second.handled.length === 2)
      await other.setConcurrency(3)
      await until(() => first.handled.length + second.handled.length === 6)
      expect(await inbox.stats()).toMatchObject({ active: 6, waiting: 3, concurrency: 3 })
      await other.setConcurrency(1)
      expect(await inbox.stats()).toMatchObject({ active: 6, concurrency: 1 })
      release()
      await until(async () => (await inbox.stats()).done === 9)
      const { entries } = await inbox.list()
      expect(entries.every(({ attempts }) => attempts === 1)).toBe(true)
    })

    it('setConcurrency() also limits workers that start later, until it is undefined', async ({
      open,
      openOther,
      passTurns,
    }) => {
      const inbox = open()
      await openOther(inbox).setConcurrency(1)
      const { gate, release } = createGate()
      for (let number = 0; number < 3; number++) await send(inbox)
      const { handled } = workOn(openOther(inbox), gate, 3)
      await until(() => handled.length === 1)
      await passTurns()
      expect(handled).toHaveLength(1)
      await inbox.setConcurrency(undefined)
      await until(() => handled.length === 3)
      expect(await inbox.stats()).not.toHaveProperty('concurrency')
      release()
    })

    it.runIf(kind.isShared)('survive a restart of all processes', async ({ open }) => {
      const inbox = open()
      expect(await inbox.stats()).toMatchObject({ paused: false })
      await inbox.pause()
      await inbox.setConcurrency(1_000)
      await inbox.close()
      expect(await open().stats()).toMatchObject({ paused: true, concurrency: 1_000 })
    })

    it('rejects a concurrency that is not a whole number from 1 to 1,000', async ({ open }) => {
      const inbox = open()
      for (const concurrency of [0, 1_001, 1.5, '4', null] as number[]) {
        const message = 'concurrency must be a whole number from 1 to 1000'
        await expect(inbox.setConcurrency(concurrency)).rejects.toMatchObject({
          code: 'config_invalid',
          message: expect.stringContaining(message),
        })
      }
      expect(await inbox.stats()).not.toHaveProperty('concurrency')
    })

    if (kind.isShared)
      it('an operator discards an active delivery only if its lease has expired', async ({
        open,
        endLeases,
      }) => {
        const inbox = open()
        const { gate, release } = createGate()
        const receiver = createReceiver({ signatureKey: KEY }).on('*', () => gate, { name: 'erp' })
        const workers = inbox.work(receiver)
        const { id } = await send(inbox)
        await until(async () => (await inbox.stats()).active === 1)
        expect(await inbox.discard(id)).toBe(false)
        await endLeases()
        // No worker may have this name any more.
        expect(await open().discard(id, 'erp')).toBe(true)
        expect(await inbox.get(id)).toBeUndefined()
        release()
        await workers.close()
        expect(await inbox.get(id)).toBeUndefined()
      })
  })
}

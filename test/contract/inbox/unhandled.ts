import { createReceiver, type Delivery } from 'geohook'
import type { AttemptEnded, DurableInbox, InboxOptions } from 'geohook/inbox'
import { describe, expect } from 'vitest'
import { deliver, KEY, payloadOf } from '../../helpers/deliver.ts'
import { createGate } from '../../helpers/gate.ts'
import type { InboxEngineKind } from './engine.ts'
import { send, testInbox, uniquePayload, until } from './fixture.ts'

/** Tests deliveries for which a worker has no handler. */
export function describeUnhandled(kind: InboxEngineKind): void {
  describe('deliveries without a handler', () => {
    const it = testInbox(kind)

    /** Starts a worker that handles only these change types. Returns the ids that it handles. */
    function workOn(
      inbox: DurableInbox,
      changeTypes: string[],
      receiver = createReceiver({ signatureKey: KEY }),
    ) {
      const handled: string[] = []
      receiver.on(changeTypes, (_, { id }) => handled.push(id))
      return { handled, workers: inbox.work(receiver), receiver }
    }

    const stateOf = async (inbox: DurableInbox, id: string) => (await inbox.get(id))?.state

    /** Leaves an unhandled delivery in the inbox. */
    async function leaveUnhandled(inbox: DurableInbox, changeType = 'FeaturesCreated'): Promise<string> {
      const { id } = await send(inbox, changeType)
      const { workers } = workOn(inbox, ['Other'])
      await until(async () => (await stateOf(inbox, id)) === 'unhandled')
      await workers.close()
      return id
    }

    it('keeps them: listed, counted, reported, and recognized as duplicates', async ({ open }) => {
      const ended: unknown[] = []
      const note =
        (name: string) =>
        ({ delivery, attempt }: AttemptEnded) =>
          ended.push([name, delivery.id, attempt])
      const inbox = open({ observer: { handled: note('handled'), unhandled: note('unhandled') } })
      const { id } = await send(inbox, 'FeaturesDeleted')
      workOn(inbox, ['FeaturesCreated'])
      await until(() => ended.length > 0)
      expect(ended).toEqual([['unhandled', id, 1]])
      const entry = { id, state: 'unhandled', attempts: 0, endedAt: expect.any(Date) }
      expect(await inbox.get(id)).toMatchObject(entry)
      expect((await inbox.list({ state: 'unhandled' })).entries).toEqual([expect.objectContaining(entry)])
      expect((await inbox.list()).entries).toEqual([expect.objectContaining(entry)])
      expect(await inbox.stats()).toMatchObject({ waiting: 0, active: 0, done: 0, dead: 0, unhandled: 1 })
      const { delivery } = (await inbox.get(id)) ?? {}
      expect(await inbox.put({ ...delivery, changeTypes: [] } as unknown as Delivery)).toBe('duplicate')
    })

    it("makes them done with unhandled: 'done'", async ({ open }) => {
      const ended: string[] = []
      const inbox = open({
        unhandled: 'done',
        observer: { handled: () => ended.push('handled'), unhandled: () => ended.push('unhandled') },
      })
      const { id } = await send(inbox, 'FeaturesDeleted')
      workOn(inbox, ['FeaturesCreated'])
      await until(() => ended.length > 0)
      expect(ended).toEqual(['unhandled'])
      expect(await inbox.get(id)).toMatchObject({ state: 'done', attempts: 1 })
    })

    it('hands them to a worker that starts later with a handler', async ({ open }) => {
      const inbox = open()
      const id = await leaveUnhandled(inbox)
      const { handled } = workOn(inbox, ['FeaturesCreated'])
      await until(async () => (await stateOf(inbox, id)) === 'done')
      expect(handled).toEqual([id])
      expect(await inbox.get(id)).toMatchObject({ attempts: 1 })
    })

    it('hands them to a handler that is registered while the worker runs', async ({ open }) => {
      const inbox = open()
      const { id } = await send(inbox)
      const { receiver } = workOn(inbox, ['Other'])
      await until(async () => (await stateOf(inbox, id)) === 'unhandled')
      receiver.on('FeaturesCreated', () => {})
      await until(async () => (await stateOf(inbox, id)) === 'done')
    })

    it.for(['keep', 'done'] as const)(
      'two versions of an app share an inbox: the new one gets what only it handles, with unhandled: %s',
      async (unhandled, { open }) => {
        const left: string[] = []
        const options: InboxOptions = {
          unhandled,
          observer: {
            unhandled: ({ delivery }) => left.push(delivery.id),
            failed: () => left.push('failed'),
          },
        }
        const inbox = open(options)
        const newer = workOn(kind.isShared ? open(options) : inbox, ['Old', 'New'])
        // Workers that start at the same time do not know each other yet.
        const { id } = await send(inbox, 'New')
        await until(async () => (await inbox.stats()).done === 1)
        const older = workOn(inbox, ['Old'])
        const ids: Record<string, string[]> = { Old: [], New: [id] }
        for (let i = 0; i < 60; i++)
          for (const type of ['Old', 'New']) ids[type]?.push((await send(inbox, type)).id)
        await until(async () => (await inbox.stats()).done === 121)
        expect(left).toEqual([])
        expect([...older.handled, ...newer.handled].sort()).toEqual(Object.values(ids).flat().sort())
        expect(newer.handled).toEqual(expect.arrayContaining(ids.New ?? []))
        const { entries } = await inbox.list({ limit: 1_000 })
        expect(new Set(entries.map(({ attempts }) => attempts))).toEqual(new Set([1]))
      },
    )

    it('hands over a delivery with several events to the worker with handlers for more of them', async ({
      open,
    }) => {
      const inbox = open()
      const { gate, release } = createGate()
      // Only this worker takes deliveries until the gate opens.
      const newer = createReceiver({ signatureKey: KEY })
      const handled: string[] = []
      newer.on('Block', () => gate).on(['Old', 'New'], (event) => handled.push(`new ${event.changeType}`))
      await send(inbox, 'Block')
      inbox.work(newer, { concurrency: 1 })
      await until(async () => (await inbox.stats()).active === 1)
      const older = createReceiver({ signatureKey: KEY }).on('Old', () => handled.push('old Old'))
      ;(kind.isShared ? open() : inbox).work(older)
      const payload = JSON.parse(uniquePayload('Old'))
      payload.events = [...payload.events, ...JSON.parse(payloadOf('New')).events]
      const { status } = await deliver(createReceiver({ signatureKey: KEY, inbox }), JSON.stringify(payload))
      expect(status).toBe(202)
      await until(async () => (await inbox.stats()).unhandled === 1)
      release()
      await until(async () => (await inbox.stats()).done === 2)
      expect(handled).toEqual(['new Old', 'new New'])
    })

    it('hands a delivery of one name to the worker that handles more of it under that name', async ({
      open,
    }) => {
      const inbox = open()
      const { gate, release } = createGate()
      const handled: string[] = []
      const newer = createReceiver({ signatureKey: KEY })
        .on('Block', () => gate, { name: 'erp' })
        .on(['Old', 'New'], (event) => handled.push(event.changeType), { name: 'erp' })
      await send(inbox, 'Block')
      inbox.work(newer, { concurrency: 1 })
      await until(async () => (await inbox.stats()).active === 1)
      const older = createReceiver({ signatureKey: KEY }).on('Old', () => handled.push('old'), {
        name: 'erp',
      })
      ;(kind.isShared ? open() : inbox).work(older)
      const payload = JSON.parse(uniquePayload('Old'))
      payload.events = [...payload.events, ...JSON.parse(payloadOf('New')).events]
      await deliver(createReceiver({ signatureKey: KEY, inbox }), JSON.stringify(payload))
      await until(async () => (await inbox.stats()).unhandled === 1)
      release()
      await until(async () => (await inbox.stats()).done === 2)
      expect(handled).toEqual(['Old', 'New'])
    })

    it('asks an object that declines a delivery once, although other workers have names', async ({
      open,
    }) => {
      const inbox = open()
      const asked: string[] = []
      inbox.work(createReceiver({ signatureKey: KEY }).on('Old', () => {}, { name: 'erp' }))
      await send(inbox, 'Old')
      await until(async () => (await inbox.stats()).done === 1)
      ;(kind.isShared ? open() : inbox).work({
        async handle({ id }) {
          asked.push(id)
          return 'unhandled'
        },
      })
      const first = await send(inbox, 'New')
      await until(async () => (await stateOf(inbox, first.id)) === 'unhandled')
      // Time for two scans and two polls of the worker.
      await new Promise((resolve) => setTimeout(resolve, 4_500))
      expect(asked).toEqual([first.id])
    })

    it('can be retried, discarded and removed', async ({ open }) => {
      const inbox = open()
      const ids = [await leaveUnhandled(inbox), await leaveUnhandled(inbox), await leaveUnhandled(inbox)]
      const [first = '', second = '', third = ''] = ids
      expect(await inbox.retry({ state: 'dead' })).toBe(0)
      expect(await inbox.retry(first)).toBe(true)
      expect(await inbox.get(first)).toMatchObject({ state: 'waiting', attempts: 0 })
      expect(await inbox.discard(first)).toBe(true)
      expect(await inbox.retry({ state: 'unhandled' })).toBe(2)
      expect(await inbox.stats()).toMatchObject({ waiting: 2, unhandled: 0 })
      const { workers } = workOn(inbox, ['Other'])
      await until(async () => (await inbox.stats()).unhandled === 2)
      await workers.close()
      expect(await inbox.discard(second)).toBe(true)
      expect(await inbox.purge({ state: 'unhandled' })).toBe(1)
      expect([await inbox.get(second), await inbox.get(third)]).toEqual([undefined, undefined])
    })

    it('are removed after deadRetention', async ({ open }) => {
      const left: string[] = []
      const inbox = open({
        deadRetention: 100,
        observer: { unhandled: ({ delivery }) => left.push(delivery.id) },
      })
      const { id } = await send(inbox)
      workOn(inbox, ['Other'])
      await until(async () => (await inbox.get(id)) === undefined)
      expect(left).toEqual([id])
    })
  })
}

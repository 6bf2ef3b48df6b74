import { createReceiver, type Receiver } from 'geohook'
import type { DurableInbox, InboxEntry } from 'geohook/inbox'
import { describe, expect } from 'vitest'
import { deliver, KEY } from '../../helpers/deliver.ts'
import { createGate } from '../../helpers/gate.ts'
import type { InboxEngineKind } from './engine.ts'
import { send, testInbox, until } from './fixture.ts'

/** Tests handlers with names, which have fates of their own. */
export function describeNames(kind: InboxEngineKind): void {
  describe('handlers with names', () => {
    const it = testInbox(kind)

    const create = (inbox: DurableInbox): Receiver => createReceiver({ signatureKey: KEY, inbox })

    /** Runs the workers of three names, `erp` fails before its attempt `good`. Returns the calls. */
    function workThree(inbox: DurableInbox, good: number, options = {}) {
      const calls: string[] = []
      const receiver = create(inbox)
        .on('*', (_, __, { attempt }) => calls.push(`mail ${attempt}`), { name: 'mail' })
        .on(
          '*',
          (_, __, { attempt }) => {
            calls.push(`erp ${attempt}`)
            if (attempt < good) throw new Error(`no erp ${attempt}`)
          },
          { name: 'erp', ...options },
        )
        .on('*', (_, __, { attempt }) => calls.push(`unnamed ${attempt}`))
      return { calls, workers: inbox.work(receiver) }
    }

    const fatesOf = async (inbox: DurableInbox, id: string): Promise<Record<string, string>> => {
      const fates = (await inbox.get(id))?.fates ?? []
      return Object.fromEntries(fates.map(({ handler = '', state }) => [handler, state]))
    }

    it('run again alone if one fails: the others have run exactly once', async ({ open }) => {
      const inbox = open({ retryDelay: 1, maxRetryDelay: 5 })
      const { id } = await send(inbox)
      const { calls } = workThree(inbox, 6)
      await until(async () => (await inbox.stats()).done === 3)
      expect(calls.sort()).toEqual([
        'erp 1',
        'erp 2',
        'erp 3',
        'erp 4',
        'erp 5',
        'erp 6',
        'mail 1',
        'unnamed 1',
      ])
      expect(await fatesOf(inbox, id)).toEqual({ '': 'done', erp: 'done', mail: 'done' })
    })

    it('become dead letters alone, with attempts of their own, and are retried alone', async ({ open }) => {
      const inbox = open({ retryDelay: 1, maxRetryDelay: 5 })
      const { id } = await send(inbox)
      const { calls } = workThree(inbox, 9, { attempts: 2 })
      await until(async () => (await inbox.stats()).dead === 1)
      await until(async () => (await inbox.stats()).done === 2)
      expect(calls.sort()).toEqual(['erp 1', 'erp 2', 'mail 1', 'unnamed 1'])
      // The state of the delivery is the worst of its fates.
      expect(await inbox.get(id)).toMatchObject({ id, state: 'dead', handler: 'erp', attempts: 2 })
      const [letter] = (await inbox.list({ state: 'dead' })).entries
      expect(letter).toMatchObject({ id, handler: 'erp', error: 'Error: no erp 2' })
      expect(await inbox.retry(id, 'mail')).toBe(false)
      expect(await inbox.retry(id, 'other')).toBe(false)
      expect(await inbox.retry(id, 'erp')).toBe(true)
      await until(() => calls.length === 6)
      await until(async () => (await inbox.stats()).dead === 1)
      expect(calls.slice(4)).toEqual(['erp 1', 'erp 2'])
      expect(await inbox.retry({ state: 'dead' })).toBe(1)
      await until(async () => calls.length === 8 && (await inbox.stats()).dead === 1)
    })

    it('keep the delivery, and its id as a duplicate, until the last fate is gone', async ({ open }) => {
      const inbox = open({ retryDelay: 1, maxRetryDelay: 1 })
      const { id } = await send(inbox)
      const { workers } = workThree(inbox, 9, { attempts: 1 })
      await until(async () => (await inbox.stats()).dead + (await inbox.stats()).done === 3)
      await workers.close()
      const stored = (await inbox.get(id))?.delivery
      const again = { ...stored, payload: {}, events: [], changeTypes: ['FeaturesCreated'] } as never
      expect(await inbox.purge({ state: 'done' })).toBe(2)
      expect(await fatesOf(inbox, id)).toEqual({ erp: 'dead' })
      expect((await inbox.get(id))?.delivery.rawBody).toEqual(stored?.rawBody)
      expect(await inbox.put(again)).toBe('duplicate')
      expect(await inbox.discard(id, 'mail')).toBe(false)
      expect(await inbox.discard(id, 'erp')).toBe(true)
      expect(await inbox.get(id)).toBeUndefined()
      expect(await inbox.put(again)).toBe('stored')
      expect(await fatesOf(inbox, id)).toEqual({ '': 'waiting' })
    })

    it('can all be discarded and retried with one call', async ({ open }) => {
      const inbox = open()
      const { id } = await send(inbox)
      const receiver = create(inbox)
      for (const name of ['erp', 'mail', '__proto__'])
        receiver.on(
          '*',
          () => {
            throw new Error(name)
          },
          { name, attempts: 1 },
        )
      const workers = inbox.work(receiver)
      await until(async () => (await inbox.stats()).dead === 3)
      await workers.close()
      expect(await inbox.retry(id)).toBe(true)
      expect(await inbox.stats()).toMatchObject({ dead: 0, waiting: 3 })
      expect(Object.keys((await inbox.get(id))?.fates ?? {}).length).toBe(3)
      expect(await inbox.discard(id)).toBe(true)
      expect(await inbox.get(id)).toBeUndefined()
    })

    it('are only those that handle the change types of the delivery', async ({ open }) => {
      const inbox = open()
      const created = await send(inbox, 'FeaturesCreated')
      const deleted = await send(inbox, 'FeaturesDeleted')
      const custom = await send(inbox, 'Custom')
      const calls: string[] = []
      const receiver = create(inbox)
        .on('FeaturesEdited', ({ changeType }) => calls.push(`sync ${changeType}`), { name: 'sync' })
        .on('FeaturesDeleted', ({ changeType }) => calls.push(`log ${changeType}`), { name: 'log' })
      inbox.work(receiver)
      await until(async () => (await inbox.stats()).done === 3 && (await inbox.stats()).unhandled === 1)
      expect(calls.sort()).toEqual(['log FeaturesDeleted', 'sync FeaturesCreated', 'sync FeaturesDeleted'])
      expect(await fatesOf(inbox, created.id)).toEqual({ sync: 'done' })
      expect(await fatesOf(inbox, deleted.id)).toEqual({ log: 'done', sync: 'done' })
      expect(await fatesOf(inbox, custom.id)).toEqual({ '': 'unhandled' })
      // A name that handles it is registered while the workers run.
      receiver.onDelivery(({ changeTypes }) => calls.push(`all ${changeTypes}`), { name: 'all' })
      await until(async () => (await inbox.stats()).done === 4)
      expect(await fatesOf(inbox, custom.id)).toEqual({ all: 'done' })
      expect(calls[3]).toBe('all Custom')
    })

    it('have a concurrency and a timeout of their own', async ({ open }) => {
      const inbox = open({ attempts: 1, observer: { failed() {}, dead() {} } })
      const { gate, release } = createGate()
      const active = { slow: 0, most: 0 }
      const done: string[] = []
      const receiver = create(inbox)
        .on(
          '*',
          async () => {
            active.most = Math.max(active.most, ++active.slow)
            await gate
            active.slow--
          },
          { name: 'slow', concurrency: 2 },
        )
        .on('*', (_, { id }) => done.push(id), { name: 'quick' })
        .on('*', (_, __, { signal }) => new Promise((resolve) => signal.addEventListener('abort', resolve)), {
          name: 'hangs',
          timeout: 20,
        })
      inbox.work(receiver, { concurrency: 1 })
      for (let number = 0; number < 6; number++) await send(inbox)
      // Neither the names that are full nor those that hang keep the others from running.
      await until(async () => done.length === 6 && (await inbox.stats()).dead === 6)
      await until(() => active.slow === 2)
      release()
      await until(async () => (await inbox.stats()).done === 12)
      expect(active.most).toBe(2)
      const letters = (await inbox.list({ state: 'dead' })).entries
      expect(letters.map(({ handler, error }) => [handler, error])).toEqual(
        Array(6).fill(['hangs', 'TimeoutError: the handlers took more than 20 ms']),
      )
    })

    it('are listed page by page, each fate once', async ({ open }) => {
      const inbox = open()
      for (let number = 0; number < 4; number++) await send(inbox)
      workThree(inbox, 1)
      await until(async () => (await inbox.stats()).done === 12)
      for (const order of ['oldest', 'newest'] as const)
        for (const state of ['done', undefined] as const) {
          const entries: InboxEntry[] = []
          let after: string | undefined
          do {
            const page = await inbox.list({ order, state, limit: 5, after })
            entries.push(...page.entries)
            after = page.next
          } while (after !== undefined)
          const keys = entries.map(({ id, handler = '' }) => `${id} ${handler}`)
          expect([keys.length, new Set(keys).size]).toEqual([12, 12])
        }
    })

    it('are handled together only with the same name', async ({ open }) => {
      const inbox = open()
      const body = (number: number) => ({
        changesUrl: `https://gis.example.com/rest/services/P/FeatureServer/extractChanges?serverGens=[${number},${number + 1}]`,
      })
      const sizes: string[] = []
      const receiver = create(inbox)
        .on('*', (_, __, { together }) => sizes.push(`a ${together?.deliveries.length}`), { name: 'a' })
        .on('*', (_, __, { together }) => sizes.push(`b ${together?.deliveries.length}`), { name: 'b' })
      for (const number of [1, 2, 3])
        expect((await deliver(create(inbox), JSON.stringify(body(number)))).status).toBe(202)
      inbox.work(receiver, { coalesce: { by: 'service', wait: 1_000 } })
      await until(async () => (await inbox.stats()).done === 6)
      expect(sizes.sort()).toEqual(['a 3', 'b 3'])
    })

    it('are named to the observer', async ({ open }) => {
      const events: string[] = []
      const note = (name: string) => (event: { handler?: string; attempt: number }) =>
        void events.push(`${name} ${event.handler} ${event.attempt}`)
      const inbox = open({
        retryDelay: 1,
        observer: { handled: note('handled'), failed: note('failed'), dead: note('dead') },
      })
      await send(inbox)
      workThree(inbox, 3, { attempts: 2 })
      await until(() => events.length === 4)
      expect(events.sort()).toEqual(['dead erp 2', 'failed erp 1', 'handled mail 1', 'handled undefined 1'])
    })

    if (kind.isShared) {
      it('lose no name to an acceptor without handlers, or to an older version of the app', async ({
        open,
      }) => {
        const [acceptor, older, newer] = [open(), open(), open()]
        const calls: string[] = []
        const count = (name: string) => () => void calls.push(name)
        newer.work(
          create(newer).on('*', count('erp'), { name: 'erp' }).on('*', count('mail'), { name: 'mail' }),
        )
        // The newer one has announced its names once it has handled a delivery.
        await send(acceptor)
        await until(async () => (await newer.stats()).done === 2)
        calls.length = 0
        older.work(create(older).on('*', count('older')), { concurrency: 8 })
        for (let number = 0; number < 40; number++) await send(acceptor)
        await until(async () => {
          const { waiting, active, unhandled } = await acceptor.stats()
          return waiting + active + unhandled === 0
        })
        expect(calls.filter((name) => name === 'erp')).toHaveLength(40)
        expect(calls.filter((name) => name === 'mail')).toHaveLength(40)
        expect(calls.filter((name) => name === 'older').length).toBeLessThanOrEqual(40)
      })

      it('are fixed when the delivery is taken for the first time', async ({ open }) => {
        const [older, newer] = [open(), open()]
        const calls: string[] = []
        const workers = older.work(create(older).on('*', () => calls.push('erp'), { name: 'erp' }))
        const { id } = await send(older)
        await until(async () => (await older.stats()).done === 1)
        await workers.close()
        newer.work(
          create(newer)
            .on('*', () => calls.push('erp'), { name: 'erp' })
            .on('*', () => calls.push('mail'), { name: 'mail' }),
        )
        await send(older)
        await until(async () => (await older.stats()).done === 3)
        expect(await fatesOf(older, id)).toEqual({ erp: 'done' })
        expect(calls.sort()).toEqual(['erp', 'erp', 'mail'])
      })

      it('share their tasks with other processes', async ({ open }) => {
        const inboxes = [open(), open(), open()]
        const calls: string[] = []
        for (const inbox of inboxes) {
          const receiver = create(inbox)
          for (const name of ['a', 'b', 'c'])
            receiver.on('*', (_, { id }) => calls.push(`${name} ${id}`), { name })
          inbox.work(receiver)
        }
        const [first] = inboxes as [DurableInbox]
        await Promise.all(
          Array.from({ length: 40 }, (_, number) => send(inboxes[number % 3] as DurableInbox)),
        )
        await until(async () => (await first.stats()).done === 120)
        expect([calls.length, new Set(calls).size]).toEqual([120, 120])
      })
    }
  })
}

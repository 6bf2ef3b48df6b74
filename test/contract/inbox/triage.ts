import { type AttemptContext, createReceiver, type Delivery } from 'geohook'
import type { DurableInbox, ListOptions } from 'geohook/inbox'
import { describe, expect } from 'vitest'
import { KEY } from '../../helpers/deliver.ts'
import { groupHandler } from '../../helpers/receiver-port.ts'
import { deliveryWithId, editOf } from '../../inbox/deliveries.ts'
import type { InboxEngineKind } from './engine.ts'
import { send, testInbox, until } from './fixture.ts'

/** Texts that databases escape, reject or read as patterns. */
const ODD = ['a\0b', '\ud800', '"', '\\', '%', '_', "'", '😀', '值', 'é', '\u007f', '[', ',']

/** A delivery. Its handlers fail with the error, if it has one. */
interface Case {
  types?: string[]
  service?: string
  error?: string
}

const serviceOf = (name: string): string => `https://gis.example.com/rest/services/${name}/FeatureServer`

/** Tests what an operator does with many deliveries: conditions, reruns and groups of errors. */
export function describeTriage(kind: InboxEngineKind): void {
  describe('triage', () => {
    const it = testInbox(kind)
    let number = 0

    function deliveryOf({ types = ['Edit'], service, error }: Case): Delivery {
      const changesUrl = `${serviceOf(`${service}`)}/extractChanges?serverGens=[1,2]`
      return {
        ...deliveryWithId((number++).toString(16).padStart(32, '0')),
        changeTypes: types,
        events: service === undefined ? [] : [{ changeType: types[0], changesUrl } as never],
        headers: error === undefined ? {} : { error },
      }
    }

    /** Handles deliveries once, one after the other. Returns their ids. */
    async function handleAll(inbox: DurableInbox, ...cases: Case[]): Promise<string[]> {
      const deliveries = cases.map(deliveryOf)
      for (const delivery of deliveries) await inbox.put(delivery)
      const before = await inbox.stats()
      const workers = inbox.work({
        handle: async ({ headers: { error } }) => {
          if (error !== undefined) throw new Error(`${error}`)
        },
      })
      await until(async () => {
        const { done, dead } = await inbox.stats()
        return done + dead === before.done + before.dead + before.waiting
      })
      await workers.close()
      return deliveries.map(({ id }) => id)
    }

    /** Reads all pages. Returns the numbers of the listed deliveries. */
    async function list(
      inbox: DurableInbox,
      ids: readonly string[],
      options: ListOptions,
    ): Promise<number[]> {
      const listed: number[] = []
      for (let after: string | undefined, isFirst = true; isFirst || after !== undefined; isFirst = false) {
        const page = await inbox.list({ ...options, after })
        expect(page.entries.length).toBeLessThanOrEqual(options.limit ?? 100)
        listed.push(...page.entries.map(({ id }) => ids.indexOf(id)))
        after = page.next
      }
      return listed
    }

    it('lists the deliveries that meet all conditions, page by page', async ({ open }) => {
      const inbox = open({ attempts: 1 })
      const ids = await handleAll(
        inbox,
        { types: ['Edit', 'Add'], service: 'A', error: 'no database at 10.0.0.1:5432' },
        { types: ['Add'], service: 'B', error: 'HTTP 503 from https://erp.test/7f3c9a1e0b2d' },
        { types: ['Edit'], service: 'A', error: 'HTTP 404 from https://erp.test/' },
        { types: ['Edited'], service: 'AB' },
        { types: ['Edit'], service: 'A' },
      )
      const cases: [ListOptions, number[]][] = [
        [{ changeType: 'Edit' }, [0, 2, 4]],
        [{ changeType: 'Add' }, [0, 1]],
        [{ changeType: 'dit' }, []],
        [{ service: serviceOf('A') }, [0, 2, 4]],
        [{ service: serviceOf('A'), changeType: 'Edit', state: 'dead' }, [0, 2]],
        [{ service: 'A' }, []],
        [{ error: 'HTTP 503' }, [1]],
        [{ error: 'Error: no database at 10.0.0.1:*' }, [0]],
        [{ error: 'error' }, []],
        [{ handler: '' }, [0, 1, 2, 3, 4]],
        [{ handler: 'erp' }, []],
        [{ state: 'done', changeType: 'Edited' }, [3]],
        [{ state: 'dead', newerThan: 3_600_000, olderThan: 0 }, [0, 1, 2]],
        [{ state: 'dead', olderThan: 3_600_000 }, []],
        [{ state: 'waiting', changeType: 'Edit' }, []],
      ]
      for (const [options, expected] of cases) {
        expect([options, await list(inbox, ids, { ...options, limit: 2 })]).toEqual([options, expected])
        const newest = await list(inbox, ids, { ...options, limit: 2, order: 'newest' })
        expect([options, newest]).toEqual([options, [...expected].reverse()])
      }
    })

    it('finds odd change types and errors, and nothing else for them', async ({ open }) => {
      const inbox = open({ attempts: 1 })
      const ids = await handleAll(
        inbox,
        ...ODD.map((text) => ({ types: [text, `z"${text}`], error: `x${text}y` })),
      )
      for (const [index, text] of ODD.entries()) {
        expect([text, await list(inbox, ids, { changeType: text })]).toEqual([text, [index]])
        expect([text, await list(inbox, ids, { service: text })]).toEqual([text, []])
        expect([text, await list(inbox, ids, { handler: text })]).toEqual([text, []])
        // The stored text of an error has no NUL and no lone surrogates.
        const kind = `x${text === '\ud800' ? '\ufffd' : text.replace(/[\0\x7f]/, ' ')}y`
        expect([text, await list(inbox, ids, { error: kind })]).toEqual([text, [index]])
      }
      expect(await list(inbox, ids, { changeType: 'z' })).toEqual([])
      // Parts of the JSON escapes of other texts.
      for (const error of ['u', '00', '503', 'd8'])
        expect([error, await list(inbox, ids, { error })]).toEqual([error, []])
      const groups = (await inbox.errors()).groups.map(({ error }) => error)
      expect(groups).toContain('Error: x😀y')
      expect(groups).toContain('Error: x值y')
    })

    it('changes only the deliveries that meet the conditions', async ({ open }) => {
      const inbox = open({ attempts: 1 })
      const ids = await handleAll(
        inbox,
        { error: 'ERP down', types: ['A'] },
        { error: 'disk full', types: ['A'] },
        { error: 'ERP down', types: ['B'] },
        { types: ['A'] },
        { types: ['B'] },
      )
      const statesOf = () => Promise.all(ids.map(async (id) => (await inbox.get(id))?.state))
      expect(await inbox.retry({ state: 'dead', error: 'ERP', changeType: 'A' })).toBe(1)
      expect(await statesOf()).toEqual(['waiting', 'dead', 'dead', 'done', 'done'])
      expect(await inbox.get(ids[0] ?? '')).toMatchObject({ attempts: 0 })
      expect(await inbox.rerun({ state: 'done', changeType: 'B' })).toBe(1)
      expect(await statesOf()).toEqual(['waiting', 'dead', 'dead', 'done', 'waiting'])
      expect(await inbox.purge({ state: 'done', changeType: 'B' })).toBe(0)
      expect(await inbox.purge({ state: 'dead', newerThan: 3_600_000, error: 'disk' })).toBe(1)
      expect(await inbox.retry(Object.create({ state: 'dead', error: 'disk' }))).toBe(0)
      expect(await inbox.purge({ state: 'done', newerThan: 3_600_000 })).toBe(1)
      expect(await statesOf()).toEqual(['waiting', undefined, 'dead', undefined, 'waiting'])
      expect(await inbox.retry({ state: 'dead' })).toBe(1)
      expect(await inbox.stats()).toMatchObject({ waiting: 3, dead: 0, done: 0 })
    })

    it('groups dead letters by their errors without ids and long numbers, the largest group first', async ({
      open,
    }) => {
      const inbox = open({ attempts: 1 })
      expect(await inbox.errors()).toEqual({ groups: [], examined: 0 })
      const ids = await handleAll(
        inbox,
        { error: 'HTTP 503' },
        { error: 'no row 48213, request 0b6f1c5e-1111-4d7a-9d2e-5b8f3e9c7a10' },
        { error: 'no row 7777777, request FFFFFFFF-1111-4d7a-9d2e-5b8f3e9c7a10' },
        { error: 'HTTP 404' },
        { error: `long ${'😀'.repeat(50_000)}` },
        {},
      )
      const { groups, examined } = await inbox.errors()
      expect(examined).toBe(5)
      expect(groups.map(({ error, count }) => [count, error])).toEqual([
        [2, 'Error: no row *, request *'],
        ...groups.slice(1).map(({ error }) => [1, error]),
      ])
      expect(groups.map(({ error }) => error)).toEqual(
        expect.arrayContaining(['Error: HTTP 503', 'Error: HTTP 404', `Error: long ${'😀'.repeat(94)}`]),
      )
      const [{ first, last, id }] = groups as [(typeof groups)[0]]
      const entries = await Promise.all([1, 2].map((index) => inbox.get(ids[index] ?? '')))
      const ends = entries.map((entry) => entry?.endedAt?.getTime() ?? 0)
      expect([first.getTime(), last.getTime()]).toEqual([Math.min(...ends), Math.max(...ends)])
      expect(entries.find((entry) => entry?.id === id)?.endedAt).toEqual(last)
      for (const { error, count } of groups) expect(await inbox.retry({ state: 'dead', error })).toBe(count)
    })

    it('rerun() makes a done delivery due again, and all its attempts say so', async ({ open }) => {
      const inbox = open({ attempts: 2, retryDelay: 1, maxRetryDelay: 1 })
      const [id = '', other = ''] = await handleAll(inbox, {}, {})
      const calls: [string, number, true | undefined][] = []
      let isBad = true
      const handle = async (stored: { id: string }, { attempt, rerun }: AttemptContext) => {
        calls.push([stored.id, attempt, rerun])
        if (isBad) throw new Error('bad')
      }
      expect(await inbox.retry(id)).toBe(false)
      expect(await inbox.rerun(id)).toBe(true)
      for (const name of ['erp', '\0'])
        expect([await inbox.rerun(other, name), await inbox.discard(other, name)]).toEqual([false, false])
      expect(await inbox.rerun(id)).toBe(false)
      inbox.work({ handle })
      await until(async () => (await inbox.get(id))?.state === 'dead')
      isBad = false
      expect([await inbox.rerun(id), await inbox.retry(id)]).toEqual([false, true])
      await until(async () => (await inbox.get(id))?.state === 'done')
      await inbox.put(deliveryOf({}))
      await until(() => calls.length === 4)
      expect(calls.slice(0, 3)).toEqual([1, 2, 1].map((attempt) => [id, attempt, true]))
      expect(calls[3]?.slice(1)).toEqual([1, undefined])
      expect((await inbox.get(other))?.attempts).toBe(1)
    })

    it('a rerun is handled alone if workers coalesce', async ({ open }) => {
      const inbox = open()
      const sizes: [number, true | undefined][] = []
      const handler = groupHandler(async (stored, context) => {
        sizes.push([stored.length, context?.rerun])
        return stored.map(() => 'handled' as const)
      })
      const coalesce = { by: 'service', wait: 100 } as const
      const first = inbox.work(handler, { coalesce })
      const { id } = editOf()
      const next = async () => `${id.slice(0, -4)}${(number++).toString(16).padStart(4, '0')}`
      for (let count = 0; count < 2; count++) await inbox.put({ ...editOf(), id: await next() })
      await until(async () => (await inbox.stats()).done === 2)
      await first.close()
      sizes.length = 0
      expect(await inbox.rerun({ state: 'done' })).toBe(2)
      for (let count = 0; count < 2; count++) await inbox.put({ ...editOf(), id: await next() })
      inbox.work(handler, { coalesce })
      await until(async () => (await inbox.stats()).done === 4)
      expect(sizes.sort()).toEqual([
        [1, true],
        [1, true],
        [2, undefined],
      ])
    })

    it('discard() of a done delivery forgets it', async ({ open }) => {
      const inbox = open()
      const delivery = deliveryOf({})
      await inbox.put(delivery)
      await handleAll(inbox)
      expect(await inbox.put(delivery)).toBe('duplicate')
      expect(await inbox.discard(delivery.id)).toBe(true)
      expect(await inbox.put(delivery)).toBe('stored')
    })

    it('changes the handlers with one name, and keeps those that have succeeded', async ({ open }) => {
      const inbox = open()
      const calls: string[] = []
      let isBad = true
      const receiver = createReceiver({ signatureKey: KEY, inbox })
        .on('*', () => calls.push('mail'), { name: 'mail' })
        .on(
          '*',
          () => {
            calls.push('erp')
            if (isBad) throw new Error('no ERP')
          },
          { name: 'erp', attempts: 1 },
        )
      const { id } = await send(inbox)
      const fates = async () =>
        (await inbox.get(id))?.fates.map(({ handler, state }) => `${handler} ${state}`)
      const settle = (...expected: string[]) => until(async () => String(await fates()) === String(expected))
      inbox.work(receiver)
      await settle('erp dead', 'mail done')
      expect(await inbox.retry({ state: 'dead', handler: 'mail' })).toBe(0)
      expect(await inbox.purge({ state: 'dead', handler: 'mail' })).toBe(0)
      isBad = false
      expect(await inbox.retry({ state: 'dead', handler: 'erp' })).toBe(1)
      await settle('erp done', 'mail done')
      expect(await inbox.rerun(id, 'mail')).toBe(true)
      await settle('erp done', 'mail done')
      expect(calls.sort()).toEqual(['erp', 'erp', 'mail', 'mail'])
      isBad = true
      expect(await inbox.rerun({ state: 'done', handler: 'erp' })).toBe(1)
      await settle('erp dead', 'mail done')
      expect(await inbox.discard(id)).toBe(true)
      expect(await fates()).toEqual(['mail done'])
      expect(await inbox.discard(id)).toBe(true)
      expect(await fates()).toBeUndefined()
    })
  })
}

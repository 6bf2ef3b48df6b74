import type { DurableInbox, InboxEntry, ListOptions } from 'geohook/inbox'
import { describe, expect } from 'vitest'
import type { InboxEngineKind } from './engine.ts'
import { send, testInbox, until, work } from './fixture.ts'

/** Tests paging through an inbox. */
export function describePages(kind: InboxEngineKind): void {
  describe('pages', () => {
    const it = testInbox(kind)

    /** Puts 9 deliveries, of which every third is done and the others are dead. Returns their ids in this order. */
    async function fill(inbox: DurableInbox): Promise<string[]> {
      const ids: string[] = []
      for (let i = 0; i < 9; i++) ids.push((await send(inbox, i % 3 === 0 ? 'Good' : 'Bad')).id)
      const workers = work(inbox, ({ changeType }) => {
        if (changeType === 'Bad') throw new Error('bad')
      })
      await until(async () => (await inbox.stats()).dead === 6 && (await inbox.stats()).done === 3)
      await workers.close()
      return ids
    }

    /** Reads all pages of two entries. Calls `change` after each page. Returns the ids of each page. */
    async function readPages(
      inbox: DurableInbox,
      options: ListOptions,
      change: (page: readonly InboxEntry[]) => Promise<unknown> = async () => {},
    ): Promise<string[][]> {
      const pages: string[][] = []
      for (let after: string | undefined, isFirst = true; isFirst || after !== undefined; isFirst = false) {
        const { entries, next } = await inbox.list({ ...options, limit: 2, after })
        pages.push(entries.map(({ id }) => id))
        await change(entries)
        after = next
      }
      return pages
    }

    const orders = ['oldest', 'newest'] as const
    const inOrder = (ids: readonly string[], order: (typeof orders)[number]) =>
      order === 'oldest' ? [...ids] : [...ids].reverse()

    it.for(orders)(
      'have all deliveries or those of a state, in the order of receipt: %s first',
      async (order, { open }) => {
        const inbox = open({ attempts: 1 })
        const ids = await fill(inbox)
        const all = await readPages(inbox, { order })
        expect(all.map(({ length }) => length)).toEqual([2, 2, 2, 2, 1])
        expect(all.flat()).toEqual(inOrder(ids, order))
        const dead = await readPages(inbox, { order, state: 'dead' })
        const isDead = (_: string, index: number) => index % 3 !== 0
        expect(dead.map(({ length }) => length)).toEqual([2, 2, 2]) // no empty page at the end
        expect(dead.flat()).toEqual(inOrder(ids.filter(isDead), order))
        expect(await readPages(inbox, { order, state: 'waiting' })).toEqual([[]])
      },
    )

    it.for(orders)(
      'have each delivery once while states change and deliveries arrive: %s first',
      async (order, { open }) => {
        const inbox = open({ attempts: 1 })
        const ids = await fill(inbox)
        const later: string[] = []
        const pages = await readPages(inbox, { order }, async (page) => {
          if (later.length < 3) later.push((await send(inbox)).id)
          for (const { id, state } of page) if (state === 'dead') expect(await inbox.retry(id)).toBe(true)
          const [dead] = (await inbox.list({ state: 'dead', limit: 1, order })).entries
          if (dead) expect(await inbox.retry(dead.id)).toBe(true)
        })
        expect(pages.flat()).toEqual(order === 'oldest' ? [...ids, ...later] : inOrder(ids, order))
      },
    )

    it.for(orders)(
      'of a state have each delivery once while those before leave the state: %s first',
      async (order, { open }) => {
        const inbox = open({ attempts: 1 })
        const ids = await fill(inbox)
        let isRetried = false
        const pages = await readPages(inbox, { order, state: 'dead' }, async (page) => {
          for (const { id } of page)
            expect(await (isRetried ? inbox.discard(id) : inbox.retry(id))).toBe(true)
          isRetried = !isRetried
        })
        const isDead = (_: string, index: number) => index % 3 !== 0
        expect(pages.flat()).toEqual(inOrder(ids.filter(isDead), order))
        expect(await inbox.stats()).toMatchObject({ waiting: 4, done: 3, dead: 0 })
      },
    )
  })
}

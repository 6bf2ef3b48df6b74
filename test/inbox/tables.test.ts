// @module-tag sqlite
import { beforeEach, describe, expect, it } from 'vitest'
import {
  type DeliveriesTable,
  type HeldTask,
  type ListedEntry,
  type ListQuery,
  type SuspectRequest,
  type TakenDelivery,
  type TaskChange,
  type TaskKey,
  taskName,
} from '../../src/inbox/engine-port.ts'
import type { DeliveryFilter } from '../../src/inbox/index.ts'
import { createMemoryTable } from '../../src/inbox/memory/table.ts'
import { createSqliteTable } from '../../src/inbox/sqlite/table.ts'
import { createTransactions } from '../../src/inbox/sqlite/transactions.ts'
import { deliveryWithId, idOf } from './deliveries.ts'
import { useFolder } from './sqlite/fixture.ts'

const LEASE = 1_000
const LIMITS = { maxPending: 10 }
/** Maximum numbers of attempts of handlers without a name. */
const [TWO, MANY] = [new Map([['', 2]]), new Map([['', 20]])]
const [A, B, C] = [idOf('a'), idOf('b'), idOf('c')]

describe.each(['memory', 'SQLite'])('the table in %s', (engine) => {
  /** Milliseconds by which a set-back clock may lengthen leases and delays: see `MAX_LAG` of the SQLite table. */
  const LAG = engine === 'memory' ? 0 : 500
  const fixture = useFolder()
  let now: number
  let table: DeliveriesTable
  beforeEach(() => {
    now = 1_800_000_000_000
    const clock = () => now
    table = fixture.keep(
      engine === 'memory'
        ? createMemoryTable(clock)
        : createSqliteTable(createTransactions(fixture.path), clock, Infinity),
    )
  })

  const put = async (...ids: string[]) => {
    for (const id of ids) await table.put({ ...deliveryWithId(id), receivedAt: new Date(now++) }, LIMITS)
  }
  const take = async (owner: string, limit = 1, maxBytes = 1_000) =>
    (await table.take({ owner, handler: '', lease: LEASE, limit, maxBytes })).taken
  const takeOne = async (owner: string) => (await take(owner))[0] as TakenDelivery
  const takeSuspect = (owner: string, options: Partial<SuspectRequest> = {}) =>
    table.takeSuspect({ owner, lease: LEASE, attempts: MANY, isAlone: true, except: new Set(), ...options })
  const summaryOf = ({ delivery: { id }, attempt, isSuspect }: TakenDelivery) => ({ id, attempt, isSuspect })
  const idsOf = (taken: readonly TakenDelivery[]) => taken.map(({ delivery }) => delivery.id)

  const QUERY: ListQuery = {
    state: undefined,
    filter: {},
    limit: 10,
    compared: 11,
    order: 'oldest',
    after: undefined,
  }
  const list = async (state?: 'waiting') =>
    (await table.list({ ...QUERY, state })).listed.map(({ entry }) => entry.id)
  const end = (owner: string, { seq, handler, token }: HeldTask, state: 'done' | 'dead') =>
    table.endAttempts(owner, [
      { seq, handler, token, end: state === 'done' ? { state } : { state, errors: [{ error: 'bad' }] } },
    ])

  it('lists entries in the order of receipt, whatever their state', async () => {
    await put(A, B, C)
    await end('first', await takeOne('first'), 'done')
    expect(await list()).toEqual([A, B, C])
    const all: ListedEntry[] = []
    for (const order of ['oldest', 'newest'] as const)
      all.push(...(await table.list({ ...QUERY, order, after: { seq: 2, handler: '' } })).listed)
    expect(all.map(({ entry }) => entry.id)).toEqual([C, A])
    const page = await table.list({ ...QUERY, limit: 1, compared: 2 })
    expect(page.listed.map(({ seq, handler, entry }) => [seq, handler, entry.id])).toEqual([
      [1, '', A],
      [2, '', B],
    ])
  })

  it('makes a dead letter waiting again, in its old place, with all attempts, due at once', async () => {
    await put(A, B)
    await end('first', await takeOne('first'), 'dead')
    expect(await table.counts()).toMatchObject({ waiting: 1, dead: 1, oldest: new Date(now - 1) })
    expect(await table.retry(A)).toBe(true)
    expect(await list('waiting')).toEqual([A, B])
    expect(await table.counts()).toMatchObject({ waiting: 2, dead: 0, oldest: new Date(now - 2) })
    const entry = await table.get(A)
    expect(entry).toMatchObject({ state: 'waiting', attempts: 0, dueAt: new Date(now) })
    expect(entry).not.toHaveProperty('endedAt')
    expect((await take('first', 2)).map(summaryOf)).toContainEqual({ id: A, attempt: 1, isSuspect: false })
  })

  it('confirms an end again that it has recorded, because the caller may not have got the answer', async () => {
    await put(A)
    const taken = await takeOne('first')
    expect(await end('first', taken, 'dead')).toEqual([true])
    expect(await end('first', taken, 'dead')).toEqual([true])
    await table.retry(A)
    const again = await takeOne('second')
    expect(await end('first', taken, 'dead')).toEqual([false])
    expect(await end('second', again, 'done')).toEqual([true])
    expect(await table.counts()).toMatchObject({ done: 1, dead: 0 })
  })

  it('takes up to the limit, and up to the number of bytes unless the first delivery is larger', async () => {
    await put(A, B, C) // 2 bytes each
    expect(await take('first', 2, 1)).toHaveLength(1)
    expect(await table.retry(A)).toBe(false)
    await put(idOf('d'), idOf('e'))
    expect(idsOf(await take('first', 2))).toEqual([B, C])
    expect(idsOf(await take('first', 9, 3))).toEqual([idOf('d')])
  })

  it('says when the next delivery is due', async () => {
    await put(A, B)
    const { seq, handler, token } = await takeOne('first')
    await table.endAttempts('first', [
      { seq, handler, token, end: { state: 'waiting', errors: [{ error: 'bad' }], delay: 7 } },
    ])
    await take('first')
    const request = { owner: 'first', handler: '', lease: LEASE, limit: 1, maxBytes: 1_000 }
    expect(await table.take(request)).toEqual({ taken: [], wait: 7 })
    now += 7
    expect((await table.take(request)).taken.map(summaryOf)).toEqual([
      { id: A, attempt: 2, isSuspect: false },
    ])
    expect(await table.take(request)).toEqual({ taken: [], wait: undefined })
  })

  it('gives a suspect to another owner exactly when its lease has ended', async () => {
    await put(A)
    await take('first')
    now += LEASE - 1
    expect(await takeSuspect('second')).toBeUndefined()
    now += 1
    expect(await take('second')).toEqual([])
    expect(await takeSuspect('second', { except: new Set([taskName(A, '')]) })).toBeUndefined()
    await put(B)
    expect(idsOf(await take('second', 9))).toEqual([B])
    expect(summaryOf((await takeSuspect('second')) as TakenDelivery)).toMatchObject({
      id: A,
      isSuspect: true,
    })
    expect(await takeSuspect('second')).toBeUndefined()
  })

  it('takes nothing while it is paused, and records attempts in progress', async () => {
    await put(A, B, C)
    const [a, b] = (await take('first', 2)) as [TakenDelivery, TakenDelivery]
    await table.endAttempts('first', [{ ...b, end: { state: 'unhandled', attempts: 0 } }])
    now += LEASE
    await table.set('paused', true)
    expect(await table.settings()).toEqual({ paused: true, concurrency: undefined })
    const request = { owner: 'second', handler: '', lease: LEASE, limit: 9, maxBytes: 1_000 }
    expect((await table.take(request)).taken).toEqual([])
    expect((await table.take({ ...request, seqs: [b.seq] })).taken).toEqual([])
    expect(await takeSuspect('second')).toBeUndefined()
    expect(await takeSuspect('second', { attempts: new Map([['', 1]]), isAlone: false })).toBeUndefined()
    expect(await table.renew('first', [a], LEASE)).toEqual([true])
    expect(await end('first', a, 'done')).toEqual([true])
    await table.set('concurrency', 7)
    await table.set('paused', false)
    expect(await table.settings()).toEqual({ paused: false, concurrency: 7 })
    expect(idsOf((await table.take({ ...request, seqs: [b.seq] })).taken)).toEqual([B])
    expect(idsOf(await take('second', 9))).toEqual([C])
    await table.set('concurrency', undefined)
    expect(await table.settings()).toEqual({ paused: false, concurrency: undefined })
  })

  it('counts an interrupted attempt only if it began with startAlone, up to the maximum', async () => {
    await put(A)
    await take('first')
    for (const [attempt, begins] of [
      [1, false],
      [1, true],
      [2, false],
      [2, true],
      [3, false],
      [3, false],
    ] as const) {
      now += LEASE
      const suspect = (await takeSuspect('first', { attempts: TWO })) as TakenDelivery
      expect(suspect).toMatchObject({ attempt, isSuspect: true })
      if (begins) expect(await table.startAlone('first', suspect, LEASE)).toBe(true)
      expect(await table.startAlone('second', suspect, LEASE)).toBe(false)
      expect(await table.get(A)).toMatchObject({ attempts: Math.min(attempt, 2) })
    }
  })

  it('gives the last attempt of a suspect only to a process in which nothing else is in progress', async () => {
    await put(A)
    await take('first')
    now += LEASE
    const first = (await takeSuspect('first', { attempts: TWO, isAlone: false })) as TakenDelivery
    expect(first).toMatchObject({ attempt: 1 })
    await table.startAlone('first', first, LEASE)
    now += LEASE
    const before = await table.get(A)
    expect(await takeSuspect('second', { attempts: TWO, isAlone: false })).toBe('last')
    expect(await table.get(A)).toEqual(before)
    const second = (await takeSuspect('second', { attempts: TWO })) as TakenDelivery
    expect(second).toMatchObject({ attempt: 2 })
    await table.startAlone('second', second, LEASE)
    now += LEASE
    // No handler runs for this one.
    expect(await takeSuspect('third', { attempts: TWO, isAlone: false })).toMatchObject({ attempt: 3 })
  })

  it('renews only the leases that the owner holds', async () => {
    await put(A, B)
    const [a, b] = (await take('first', 2)) as [TakenDelivery, TakenDelivery]
    now += LEASE
    const again = (await takeSuspect('second')) as TakenDelivery
    expect(again).toMatchObject({ seq: a.seq, token: a.token + 1 })
    const unknown = { seq: 99, handler: '', token: 1 }
    expect(await table.renew('first', [a, b, unknown], LEASE)).toEqual([false, true, false])
    expect(await table.renew('second', [{ ...again, token: a.token }], LEASE)).toEqual([false])
    now += LEASE - 1
    expect(await table.renew('second', [again], LEASE)).toEqual([true])
    now += LEASE - 1
    expect(await takeSuspect('third', { except: new Set([taskName(B, '')]) })).toBeUndefined()
    now += 1
    expect(await takeSuspect('third', { except: new Set([taskName(B, '')]) })).toMatchObject({ seq: a.seq })
  })

  it('ends only the attempts of the owner, and only the latest one', async () => {
    await put(A)
    const first = await takeOne('first')
    expect(await end('second', first, 'done')).toEqual([false])
    now += LEASE
    const second = (await takeSuspect('first')) as TakenDelivery
    expect(await end('first', first, 'done')).toEqual([false])
    expect(await table.get(A)).toMatchObject({ state: 'active' })
    expect(await end('first', second, 'done')).toEqual([true])
    expect(await table.get(A)).toMatchObject({ state: 'done', endedAt: new Date(now) })
  })

  it('keeps leases and due times as long as before when the clock is set back', async () => {
    await put(A, B)
    await take('first')
    now -= 50_000
    await put(C)
    expect(await table.get(A)).not.toHaveProperty('dueAt')
    const { dueAt } = (await table.get(B)) ?? {}
    expect(Number(dueAt)).toBeLessThanOrEqual(now + LAG)
    now += LEASE - 10
    expect(idsOf(await take('second', 9)).sort()).toEqual([B, C])
    expect(await takeSuspect('second')).toBeUndefined()
    now += 10 + LAG
    expect(await takeSuspect('second')).toMatchObject({ delivery: { id: A } })
  })

  it('discards any delivery that is not active, and retries none that is done', async () => {
    await put(A, B, C)
    const [a, b] = (await take('first', 2)) as [TakenDelivery, TakenDelivery]
    await end('first', b, 'dead')
    expect([await table.discard(A), await table.discard(B), await table.discard(C)]).toEqual([
      false,
      true,
      true,
    ])
    expect(await list()).toEqual([A])
    await end('first', a, 'done')
    expect([await table.retry(A), await table.discard(A)]).toEqual([false, true])
    expect(await list()).toEqual([])
  })

  it('compares up to a number of tasks with a filter, and says where to continue', async () => {
    await put(A, B, C)
    for (const id of [A, B, C]) {
      await end('first', await takeOne('first'), id === B ? 'dead' : 'done')
      now += 1_000
    }
    const none = { changeType: 'Other' }
    const page = await table.list({ ...QUERY, filter: none, limit: 1, compared: 2 })
    expect(page).toMatchObject({ listed: [], last: { seq: 2, handler: '' } })
    const next = { ...QUERY, limit: 1, compared: 2, after: page.last }
    expect(await table.list({ ...next, filter: none })).toEqual({ listed: [], last: undefined })
    const pages = [await table.list(next), await table.list({ ...next, order: 'newest' })]
    expect(pages.map(({ listed }) => listed.map(({ entry }) => entry.id))).toEqual([[C], [A]])
    const doneIn = async (filter: DeliveryFilter) =>
      (await table.list({ ...QUERY, state: 'done', filter })).listed.map(({ entry }) => entry.id)
    expect(await doneIn({ olderThan: 1_000 })).toEqual([A, C])
    expect(await doneIn({ olderThan: 1_001 })).toEqual([A])
    expect(await doneIn({ newerThan: 2_999, olderThan: 0 })).toEqual([C])
    const start = { seq: 0, handler: '' }
    const step = (change: TaskChange, filter: DeliveryFilter, after: TaskKey = start) =>
      table.changeAll(change, { state: 'done', ...filter }, after, 1)
    expect(await step('rerun', { olderThan: 3_001 })).toMatchObject({ changed: 0, last: { seq: 1 } })
    expect(await step('discard', { olderThan: 1_001 })).toMatchObject({ changed: 1, last: { seq: 1 } })
    expect(await step('rerun', {}, { seq: 1, handler: '' })).toMatchObject({ changed: 1, last: { seq: 3 } })
    expect(await step('rerun', {})).toEqual({ changed: 0, last: undefined })
    expect(await table.counts()).toMatchObject({ waiting: 1, dead: 1, done: 0 })
    expect(await table.errors(0)).toEqual({ groups: [], examined: 0 })
    expect(await table.errors(1)).toMatchObject({ groups: [{ error: 'bad', count: 1, id: B }], examined: 1 })
  })

  it('purges up to the limit of one state, from the given age', async () => {
    await put(A, B, C)
    for (const id of [A, B, C]) {
      await end('first', await takeOne('first'), id === B ? 'dead' : 'done')
      now += 1_000
    }
    expect(await table.purge('done', 1_001, 10)).toBe(1)
    expect(await list()).toEqual([B, C])
    expect(await table.purge('done', 1_000, 10)).toBe(1)
    expect(await table.purge('dead', 0, 0)).toBe(0)
    expect(await table.purge('dead', 0, 10)).toBe(1)
    expect(await list()).toEqual([])
  })
})

import { beforeEach, describe, expect, it } from 'vitest'
import type { TakeRequest } from '../../../src/inbox/engine-port.ts'
import { createMemoryTable } from '../../../src/inbox/memory/table.ts'
import { deliveryWithId, idOf } from '../deliveries.ts'

const LEASE = 1_000
const LIMITS = { maxPending: 10 }
const [A, B, C] = [idOf('a'), idOf('b'), idOf('c')]

describe('the table in memory', () => {
  let now: number
  let table: ReturnType<typeof createMemoryTable>
  beforeEach(() => {
    now = 1_800_000_000_000
    table = createMemoryTable(() => now)
  })

  const put = async (...ids: string[]) => {
    for (const id of ids) await table.put({ ...deliveryWithId(id), receivedAt: new Date(now++) }, LIMITS)
  }
  const take = async (owner: string, options: Partial<TakeRequest> = {}) => {
    const request = { owner, inProgress: new Set<string>(), lease: LEASE, attempts: 20, suspects: true }
    const { taken, wait } = await table.take({ ...request, ...options })
    return taken ? { id: taken.delivery.id, attempt: taken.attempt, isSuspect: taken.isSuspect } : { wait }
  }
  const list = async (state?: 'waiting') =>
    (await table.list({ state, limit: 10, offset: 0 })).map(({ id }) => id)
  const end = (owner: string, id: string, state: 'done' | 'dead') =>
    table.endAttempts(owner, [{ id, end: state === 'done' ? { state } : { state, error: 'bad' } }])

  it('lists entries in the order of receipt, whatever their state', async () => {
    await put(A, B, C)
    await take('first')
    await end('first', A, 'done')
    expect(await list()).toEqual([A, B, C])
    expect(await table.list({ state: undefined, limit: 1, offset: 1 })).toMatchObject([{ id: B }, { id: C }])
  })

  it('makes a dead letter waiting again, in its old place, with all attempts, due at once', async () => {
    await put(A, B)
    await take('first')
    await end('first', A, 'dead')
    expect(await table.counts()).toMatchObject({ waiting: 1, dead: 1, oldest: new Date(now - 1) })
    expect(await table.retry(A)).toBe(true)
    expect(await list('waiting')).toEqual([A, B])
    expect(await table.counts()).toMatchObject({ waiting: 2, dead: 0, oldest: new Date(now - 2) })
    const entry = await table.get(A)
    expect(entry).toMatchObject({ state: 'waiting', attempts: 0, dueAt: new Date(now) })
    expect(entry).not.toHaveProperty('endedAt')
    expect(await take('first', { inProgress: new Set([B]) })).toEqual({ id: A, attempt: 1, isSuspect: false })
  })

  it('gives a delivery to another owner exactly when its lease has ended', async () => {
    await put(A)
    await take('first')
    now += LEASE - 1
    expect(await take('second')).toEqual({ wait: 1 })
    now += 1
    expect(await take('second', { suspects: false })).toEqual({ wait: undefined })
    expect(await take('second', { inProgress: new Set([A]) })).toEqual({ wait: undefined })
    await put(B)
    expect(await take('second', { suspects: false })).toMatchObject({ id: B })
    expect(await take('second')).toEqual({ id: A, attempt: 2, isSuspect: true })
  })

  it('counts no more than the maximum number of attempts', async () => {
    await put(A)
    for (let attempt = 1; attempt <= 4; attempt++) {
      expect(await take('first', { attempts: 2 })).toMatchObject({ attempt: Math.min(attempt, 3) })
      now += LEASE
    }
    expect(await table.get(A)).toMatchObject({ attempts: 2 })
  })

  it('renews only the leases that the owner holds', async () => {
    await put(A, B)
    await take('first')
    await take('first')
    now += LEASE
    await take('second')
    expect(await table.renew('first', [A, B, C], LEASE)).toEqual([B])
    now += LEASE - 1
    expect(await table.renew('second', [A], LEASE)).toEqual([A])
    now += LEASE - 1
    expect(await take('third', { inProgress: new Set([B]) })).toEqual({ wait: 1 })
  })

  it('ends only the attempts of the owner', async () => {
    await put(A)
    await take('first')
    expect(await end('second', A, 'done')).toEqual([])
    expect(await table.get(A)).toMatchObject({ state: 'active' })
    expect(await end('first', A, 'done')).toEqual([A])
    expect(await end('first', A, 'done')).toEqual([])
    expect(await table.get(A)).toMatchObject({ state: 'done', endedAt: new Date(now) })
  })

  it('keeps leases and due times as long as before when the clock is set back', async () => {
    await put(A, B)
    await take('first')
    now -= 50_000
    await put(C)
    expect(await table.get(A)).not.toHaveProperty('dueAt')
    const { dueAt } = (await table.get(B)) ?? {}
    expect(Number(dueAt)).toBeLessThanOrEqual(now)
    now += LEASE - 10
    expect(await take('second')).toMatchObject({ id: B })
    expect(await take('second')).toMatchObject({ id: C })
    now += 10
    expect(await take('second')).toMatchObject({ id: A, attempt: 2 })
  })

  it('discards waiting deliveries and dead letters only', async () => {
    await put(A, B, C)
    await take('first')
    await take('first')
    await end('first', B, 'dead')
    expect([await table.discard(A), await table.discard(B), await table.discard(C)]).toEqual([
      false,
      true,
      true,
    ])
    expect(await list()).toEqual([A])
    await end('first', A, 'done')
    expect([await table.discard(A), await table.retry(A)]).toEqual([false, false])
  })

  it('purges up to the limit of one state, as far as the given time', async () => {
    await put(A, B, C)
    for (const id of [A, B, C]) {
      await take('first')
      await end('first', id, id === B ? 'dead' : 'done')
      now += 1_000
    }
    expect(await table.purge('done', now - 1_001, 10)).toBe(1)
    expect(await list()).toEqual([B, C])
    expect(await table.purge('done', now - 1_000, 10)).toBe(1)
    expect(await table.purge('dead', now, 0)).toBe(0)
    expect(await table.purge('dead', now, 10)).toBe(1)
    expect(await list()).toEqual([])
  })
})

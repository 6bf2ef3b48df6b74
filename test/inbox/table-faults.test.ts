import { afterEach, describe, expect, it, vi } from 'vitest'
import type { DeliveriesTable } from '../../src/inbox/engine-port.ts'
import { type InboxOptions, readInboxOptions } from '../../src/inbox/inbox-options.ts'
import { createMemoryTable } from '../../src/inbox/memory/table.ts'
import { createTableInbox } from '../../src/inbox/table-inbox.ts'
import { until } from '../contract/inbox/fixture.ts'
import { createGate } from '../helpers/gate.ts'
import { groupHandler } from '../helpers/receiver-port.ts'
import { deliveryWithId, editOf, idOf } from './deliveries.ts'

const LEASE = 30_000
const ID = idOf('a')

/** Creates an inbox whose table can fail, and notes what its observer gets. */
function createInbox(
  faults: (table: DeliveriesTable) => Partial<DeliveriesTable>,
  options: InboxOptions = {},
) {
  const time = { now: Date.now() }
  const clock = () => time.now
  const noted: string[] = []
  const note = (name: string) => (event: object) =>
    noted.push('error' in event ? `${name}: ${(event.error as Error).message}` : name)
  const observer = {
    handled: note('handled'),
    failed: note('failed'),
    dead: note('dead'),
    trouble: note('trouble'),
  }
  const table = createMemoryTable(clock)
  const config = readInboxOptions({ lease: LEASE, observer, ...options })
  const inbox = createTableInbox({ ...table, ...faults(table) }, config, clock)
  return { inbox, table, time, noted }
}

/** Fails so many times, and then calls the function. */
const failing = <Args extends unknown[], Result>(
  count: number,
  call: (...args: Args) => Promise<Result>,
): ((...args: Args) => Promise<Result>) => {
  let left = count
  return async (...args) => {
    if (left-- > 0) throw new Error('down')
    return call(...args)
  }
}

afterEach(() => void vi.useRealTimers())

describe('workers of a table that fails', () => {
  it('record a success as soon as the store works again, and do not handle the delivery again', async () => {
    const { inbox, noted } = createInbox(({ endAttempts }) => ({ endAttempts: failing(2, endAttempts) }))
    await inbox.put(deliveryWithId(ID))
    let runs = 0
    inbox.work({ handle: async () => void runs++ })
    await until(async () => (await inbox.get(ID))?.state === 'done')
    expect(noted).toEqual(['trouble: down', 'trouble: down', 'handled'])
    expect(runs).toBe(1)
    await inbox.close()
  })

  it('take deliveries again after an error', async () => {
    const { inbox, noted } = createInbox(({ take }) => ({ take: failing(1, take) }))
    inbox.work({ handle: async () => {} })
    await until(() => noted.length === 1)
    await inbox.put(deliveryWithId(ID))
    await until(async () => (await inbox.get(ID))?.state === 'done')
    expect(noted).toEqual(['trouble: down', 'handled'])
    await inbox.close()
  })

  it('take an unhandled delivery again after an error', async () => {
    const { inbox, noted } = createInbox(({ take }) => {
      const failOnce = failing(1, take)
      return { take: (request) => (request.seqs ? failOnce(request) : take(request)) }
    })
    await inbox.put(deliveryWithId(ID))
    const older = inbox.work({ handle: async () => 'unhandled' })
    await until(async () => (await inbox.get(ID))?.state === 'unhandled')
    await older.close()
    inbox.work({ handle: async () => {} })
    await until(async () => (await inbox.get(ID))?.state === 'done')
    expect(noted).toEqual(['trouble: down', 'handled'])
    await inbox.close()
  })

  it('do not take an unhandled delivery again if their receiver has no handler for it after all', async () => {
    vi.useFakeTimers({
      toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'performance'],
    })
    const { inbox } = createInbox(() => ({}))
    await inbox.put(deliveryWithId(ID))
    let runs = 0
    inbox.work({
      async handle() {
        runs++
        return 'unhandled'
      },
    })
    await vi.advanceTimersByTimeAsync(1_800_000)
    expect([runs, (await inbox.get(ID))?.state]).toEqual([1, 'unhandled'])
    const closing = inbox.close()
    await vi.advanceTimersByTimeAsync(10_000)
    await closing
  })

  it('record no success for a delivery that another process has taken over, and report it as failed', async () => {
    const { inbox, table, time, noted } = createInbox(() => ({}))
    const { gate, release } = createGate()
    let runs = 0
    await inbox.put(deliveryWithId(ID))
    inbox.work({
      async handle() {
        runs++
        await gate
      },
    })
    await until(() => runs === 1)
    time.now += LEASE
    const other = { owner: 'other', except: new Set<string>(), isAlone: true }
    await table.takeSuspect({ ...other, lease: 2 * LEASE, attempts: new Map([['', 20]]) })
    release()
    await until(() => noted.length > 0)
    // The handlers succeeded, and no heartbeat had noticed the other process.
    expect(noted).toEqual(['failed: another process has taken the delivery over'])
    expect(await inbox.get(ID)).toMatchObject({ state: 'active', attempts: 1 })
    await inbox.close()
  })

  it('take a suspect although an earlier call of takeSuspect failed', async () => {
    const { inbox, table, time, noted } = createInbox(({ takeSuspect }) => ({
      takeSuspect: failing(1, takeSuspect),
    }))
    await inbox.put(deliveryWithId(ID))
    await table.take({ owner: 'killed', handler: '', lease: LEASE, limit: 1, maxBytes: 1_000 })
    time.now += LEASE
    const attempts: unknown[] = []
    inbox.work({ handle: async (_, context) => void attempts.push(context?.attempt) })
    await until(async () => (await inbox.get(ID))?.state === 'done')
    expect([noted, attempts]).toEqual([['trouble: down', 'handled'], [1]])
    await inbox.close()
  })

  it('do not abort the signal of an attempt that ended while a slow heartbeat renewed its lease', async () => {
    const [handler, renewal] = [createGate(), createGate()]
    let renewals = 0
    const { inbox, noted } = createInbox(
      ({ renew }) => ({
        async renew(...args) {
          renewals++
          await renewal.gate
          return renew(...args)
        },
      }),
      { lease: 1_000 },
    )
    let signal: AbortSignal | undefined
    await inbox.put(deliveryWithId(ID))
    inbox.work({
      async handle(_, context) {
        signal = context?.signal
        await handler.gate
      },
    })
    await until(() => renewals === 1)
    handler.release()
    await until(() => noted.length === 1)
    renewal.release()
    await new Promise((resolve) => setImmediate(resolve)) // let the heartbeat end
    expect(signal?.aborted).toBe(false)
    expect(noted).toEqual(['handled'])
    await inbox.close()
  })
})

describe('a group that waits for more than half of its lease', () => {
  const WAIT = 300

  /** Puts two deliveries of a service, and passes time while their group waits for more. */
  async function runGroup(
    faults: (table: DeliveriesTable) => Partial<DeliveriesTable>,
    after = LEASE / 2 + 1,
  ) {
    const created = createInbox(faults)
    const { inbox, time, table } = created
    const calls: number[] = []
    const handle = async () => expect.unreachable()
    const workers = inbox.work(
      groupHandler(async ({ length }) => {
        for (let i = 0; i < length; i++) calls.push(length)
        return []
      }, handle),
      { coalesce: { by: 'service', wait: WAIT } },
    )
    for (const delivery of [editOf(), editOf()]) await inbox.put(delivery)
    await until(async () => (await table.counts()).active === 2)
    time.now += after
    return { ...created, calls, workers }
  }

  it('renews its leases, and begins', async () => {
    const renewed: number[] = []
    const { inbox, noted, calls } = await runGroup(({ renew }) => ({
      renew(owner, ids, lease) {
        renewed.push(ids.length)
        return renew(owner, ids, lease)
      },
    }))
    await until(async () => (await inbox.stats()).done === 2)
    expect([calls[0], renewed[0], noted]).toEqual([2, 2, ['handled', 'handled']])
    await inbox.close()
  })

  it('begins without the deliveries whose leases are lost', async () => {
    const { inbox, noted, calls, table } = await runGroup(({ renew }) => ({
      renew: async (owner, ids, lease) => [false, ...(await renew(owner, ids.slice(1), lease))],
    }))
    await until(() => noted.length === 2)
    expect(calls).toEqual([1])
    expect(noted).toEqual(['failed: another process has taken the delivery over', 'handled'])
    expect(await table.counts()).toMatchObject({ active: 1, done: 1 })
    await inbox.close()
  })

  it('waits for the store to work again', async () => {
    const { inbox, noted, calls } = await runGroup(({ renew }) => ({ renew: failing(2, renew) }))
    await until(async () => (await inbox.stats()).done === 2)
    expect(calls[0]).toBe(2)
    expect(noted).toEqual(['trouble: down', 'trouble: down', 'handled', 'handled'])
    await inbox.close()
  })

  it('does not begin if the store fails until the lease has ended after the inbox was closed', async () => {
    let calls = 0
    const { inbox, noted, time } = await runGroup(() => ({
      async renew() {
        calls++
        throw new Error('down')
      },
    }))
    await until(() => calls > 0)
    const closing = inbox.close()
    time.now += LEASE + 1
    await closing
    const failures = noted.filter((text) => text !== 'trouble: down')
    expect(failures).toEqual(Array.from({ length: 2 }, () => 'failed: the lease could not be renewed'))
  })
})

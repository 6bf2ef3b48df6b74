// @module-tag sqlite
import { createMemoryInbox, type MemoryInboxOptions } from 'geohook/inbox'
import { createSqliteDuplicates, createSqliteInbox } from 'geohook/sqlite'
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { until } from '../contract/inbox/fixture.ts'
import { createGate } from '../helpers/gate.ts'
import { deliveryOf } from './deliveries.ts'
import { useFolder } from './sqlite/fixture.ts'

const HOUR = 3_600_000

describe.each(['memory', 'SQLite'])('in %s, when the clock is set back by an hour', (engine) => {
  const fixture = useFolder()
  const open = (options: MemoryInboxOptions) =>
    fixture.keep(
      engine === 'memory'
        ? createMemoryInbox(options)
        : createSqliteInbox({ path: fixture.path, ...options }),
    )

  it('waiting deliveries stay due, in the same order', async () => {
    let now = Date.now()
    const inbox = open({ clock: () => now })
    const deliveries = Array.from({ length: 5 }, () => deliveryOf())
    for (const delivery of deliveries) await inbox.put(delivery)
    now -= HOUR
    const handled: string[] = []
    inbox.work({ handle: async ({ id }) => void handled.push(id) }, { concurrency: 1 })
    await until(async () => (await inbox.stats()).done === 5)
    expect(handled).toEqual(deliveries.map(({ id }) => id))
  })

  it('the delay until the next attempt stays the same', async () => {
    let now = Date.now()
    const inbox = open({ clock: () => now, retryDelay: 60_000, observer: { failed() {} } })
    const delivery = deliveryOf()
    await inbox.put(delivery)
    let attempts = 0
    const workers = inbox.work({
      handle: async () => {
        if (++attempts === 1) throw new Error('once')
      },
    })
    const dueIn = async () => Number((await inbox.get(delivery.id))?.dueAt) - now
    await until(async () => (await inbox.get(delivery.id))?.error !== undefined)
    const before = await dueIn()
    now -= HOUR
    await inbox.put(deliveryOf())
    await until(async () => (await inbox.stats()).done === 1)
    expect(await dueIn()).toBeGreaterThan(before - 1_000)
    expect(await dueIn()).toBeLessThan(before + 1_000)
    now += 60_000
    await inbox.put(deliveryOf())
    await until(async () => (await inbox.get(delivery.id))?.state === 'done')
    await workers.close()
  })
})

describe.each(['memory', 'SQLite'])(
  'in %s, when the clock is set back by less than maxRetryDelay',
  (engine) => {
    const fixture = useFolder()

    it('a new delivery is due immediately', async () => {
      let now = Date.now()
      const options = { clock: () => now, maxRetryDelay: 2 * HOUR }
      const inbox = fixture.keep(
        engine === 'memory'
          ? createMemoryInbox(options)
          : createSqliteInbox({ path: fixture.path, ...options }),
      )
      await inbox.put(deliveryOf())
      now -= HOUR
      inbox.work({ handle: async () => {} })
      await until(async () => (await inbox.stats()).done === 1)
    })
  },
)

describe('in a SQLite file that several processes share', () => {
  const fixture = useFolder()
  const open = (options: MemoryInboxOptions) =>
    fixture.keep(createSqliteInbox({ path: fixture.path, ...options }))

  /** Starts workers. Their handlers wait until the test calls the returned function. */
  function hold(inbox: ReturnType<typeof open>, ids: string[], concurrency: number): () => void {
    const { gate, release } = createGate()
    const handle = async ({ id }: { id: string }) => {
      ids.push(id)
      await gate
    }
    inbox.work({ handle }, { concurrency })
    return release
  }

  let elapsed = 0
  beforeEach(() => {
    elapsed = 0
    const { now } = performance
    const spy = vi.spyOn(performance, 'now').mockImplementation(() => now.call(performance) + elapsed)
    onTestFinished(() => spy.mockRestore())
  })

  /**
   * Puts a delivery and waits until a worker has handled it. This shows that the workers have polled the inbox. They look
   * for deliveries of dead processes once a second, so a second passes first.
   */
  async function poll(inbox: ReturnType<typeof open>, ids: string[]): Promise<void> {
    const delivery = deliveryOf()
    elapsed += 1_000
    await inbox.put(delivery)
    await until(() => ids.includes(delivery.id))
  }

  it('a process with a short lease does not take deliveries from one with a long lease', async () => {
    let now = Date.now()
    const clock = () => now
    const [first, second] = [
      open({ clock, lease: 60_000 }),
      open({ clock, lease: 1_000, maxRetryDelay: 1_000 }),
    ]
    const held: string[] = []
    const taken: string[] = []
    for (let i = 0; i < 4; i++) await first.put(deliveryOf())
    const release = hold(first, held, 4)
    await until(() => held.length === 4)
    second.work({ handle: async ({ id }) => void taken.push(id) })
    for (let times = 0; times < 3; times++) {
      await poll(second, taken)
      now += 1_500
    }
    release()
    await until(async () => (await first.stats()).done === 7)
    expect(taken.filter((id) => held.includes(id))).toEqual([])
  })

  it('a process keeps its delivery if the clock jumps ahead and is corrected', async () => {
    let now = Date.now()
    const clock = () => now
    const [first, second] = [open({ clock }), open({ clock })]
    const held: string[] = []
    const taken: string[] = []
    await first.put(deliveryOf())
    const release = hold(first, held, 2)
    await until(() => held.length === 1)
    now += HOUR
    await first.put(deliveryOf())
    await until(() => held.length === 2)
    now -= HOUR
    second.work({ handle: async ({ id }) => void taken.push(id) })
    await poll(second, taken)
    now += 20_000 // less than the lease
    await poll(second, taken)
    release()
    await until(async () => (await first.stats()).done === 4)
    expect(taken.filter((id) => held.includes(id))).toEqual([])
  })

  it('after the clock is set back, deliveries of a dead process are taken over after one lease', async () => {
    let now = Date.now()
    const clock = () => now
    const [first, second] = [open({ clock, observer: { failed() {} } }), open({ clock })]
    const delivery = deliveryOf()
    await first.put(delivery)
    const held: string[] = []
    const taken: string[] = []
    const release = hold(first, held, 1)
    await until(() => held.length === 1)
    now -= HOUR
    second.work({ handle: async ({ id }) => void taken.push(id) }, { concurrency: 1 })
    await poll(second, taken)
    expect(taken).not.toContain(delivery.id)
    now += 31_000
    await poll(second, taken)
    await until(() => taken.includes(delivery.id))
    release()
  })

  it('two processes that detect the change move the due times only once', async () => {
    let now = Date.now()
    const clock = () => now
    const [first, second] = [open({ clock, retryDelay: 600_000, observer: { failed() {} } }), open({ clock })]
    const delivery = deliveryOf()
    await first.put(delivery)
    const failing = first.work({ handle: () => Promise.reject(new Error('not now')) })
    await until(async () => (await first.get(delivery.id))?.error !== undefined)
    await failing.close()
    const before = Number((await first.get(delivery.id))?.dueAt) - now
    now -= HOUR
    const taken: string[] = []
    for (const inbox of [first, second]) inbox.work({ handle: async ({ id }) => void taken.push(id) })
    for (const inbox of [first, second, first, second]) await poll(inbox, taken)
    const after = Number((await first.get(delivery.id))?.dueAt) - now
    expect(Math.abs(after - before)).toBeLessThan(1_000)
    expect(taken).not.toContain(delivery.id)
  })

  it('a claim of a dead process expires after its lease, even if the clock is set back', async () => {
    let offset = 0
    const read = Date.now
    const spy = vi.spyOn(Date, 'now').mockImplementation(() => read() + offset)
    try {
      const openDuplicates = () => fixture.keep(createSqliteDuplicates({ path: fixture.path, lease: 30_000 }))
      const dead = openDuplicates()
      await dead.claim('busy')
      await dead.claim('done')
      await dead.done('done')
      await dead.close()
      offset -= HOUR
      const duplicates = openDuplicates()
      expect(await duplicates.claim('busy')).toBe('busy')
      offset += 31_000
      expect(await duplicates.claim('busy')).toBe('claimed')
      expect(await duplicates.claim('done')).toBe('done')
    } finally {
      spy.mockRestore()
    }
  })
})

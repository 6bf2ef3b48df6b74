// @module-tag sqlite
import { createMemoryInbox, type MemoryInboxOptions } from 'geohook/inbox'
import { createSqliteInbox } from 'geohook/sqlite'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { until } from '../contract/inbox/fixture.ts'
import { deliveryOf } from './deliveries.ts'
import { useFolder } from './sqlite/fixture.ts'

/** More deliveries than one transaction removes. */
const COUNT = 1_100

afterEach(() => void vi.useRealTimers())

describe.each(['memory', 'SQLite'])('more than a thousand deliveries in %s', (engine) => {
  const fixture = useFolder()

  /** Creates an inbox with `COUNT` deliveries. All of them are done, or dead if `end` throws. */
  async function createInbox(end: () => void, options: MemoryInboxOptions = {}) {
    const all = { observer: { dead() {} }, attempts: 1, ...options }
    const inbox = fixture.keep(
      engine === 'memory' ? createMemoryInbox(all) : createSqliteInbox({ path: fixture.path, ...all }),
    )
    await Promise.all(Array.from({ length: COUNT }, () => inbox.put(deliveryOf())))
    inbox.work({ handle: async () => end() }, { concurrency: 1_000 })
    await until(async () => {
      const { done, dead } = await inbox.stats()
      return done + dead === COUNT
    })
    return inbox
  }

  it('purge() removes all dead deliveries', async () => {
    const inbox = await createInbox(() => {
      throw new Error('bad')
    })
    expect(await inbox.purge({ state: 'done' })).toBe(0)
    expect(await inbox.purge({ state: 'dead' })).toBe(COUNT)
    expect(await inbox.stats()).toMatchObject({ done: 0, dead: 0 })
  })

  it('one retention sweep removes all expired deliveries', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
    let now = Date.now()
    const inbox = await createInbox(() => {}, { clock: () => now, retention: 60_000 })
    now += 60_000
    vi.advanceTimersByTime(60_000)
    vi.useRealTimers() // no second sweep begins
    await until(async () => (await inbox.stats()).done === 0)
  })
})

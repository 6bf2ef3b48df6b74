// @module-tag sqlite
import { createMemoryInbox, type MemoryInboxOptions } from 'geohook/inbox'
import { createSqliteInbox } from 'geohook/sqlite'
import { describe, expect, it } from 'vitest'
import { until } from '../contract/inbox/fixture.ts'
import { deliveryOf } from './deliveries.ts'
import { useFolder } from './sqlite/fixture.ts'

/** More than are removed in one go. */
const COUNT = 1_100

describe.each(['memory', 'SQLite'])('in %s, of more than a thousand,', (engine) => {
  const fixture = useFolder()

  /** An inbox with so many that are done, or dead. */
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

  it.each(['done', 'dead'] as const)('a purge removes all that are %s', async (state) => {
    const inbox = await createInbox(() => {
      if (state === 'dead') throw new Error('bad')
    })
    expect(await inbox.purge({ state: state === 'dead' ? 'done' : 'dead' })).toBe(0)
    expect(await inbox.purge({ state })).toBe(COUNT)
    expect(await inbox.stats()).toMatchObject({ done: 0, dead: 0 })
  })

  it('one look at what was kept long enough removes all', async () => {
    let now = Date.now()
    const inbox = await createInbox(() => {}, { clock: () => now, retention: 2_000 })
    now += 2_000
    await until(async () => (await inbox.stats()).done < COUNT)
    await until(async () => (await inbox.stats()).done === 0, 1_000) // the next look is later
  })
})

// @module-tag sqlite
import { createMemoryInbox, type MemoryInboxOptions } from 'geohook/inbox'
import { createSqliteInbox } from 'geohook/sqlite'
import { describe, expect, it } from 'vitest'
import { until } from '../contract/inbox/fixture.ts'
import { createGate } from '../helpers/gate.ts'
import { deliveryOf, useFolder } from './files.ts'

const HOUR = 3_600_000

describe.each(['memory', 'SQLite'])('in %s, when the clock is set back by an hour,', (engine) => {
  const fixture = useFolder()
  const open = (options: MemoryInboxOptions) =>
    fixture.keep(
      engine === 'memory'
        ? createMemoryInbox(options)
        : createSqliteInbox({ path: fixture.path, ...options }),
    )

  it('what waits is due, in its order', async () => {
    let now = Date.now()
    const inbox = open({ clock: () => now })
    const deliveries = Array.from({ length: 5 }, () => deliveryOf())
    for (const one of deliveries) await inbox.put(one)
    now -= HOUR
    const handled: string[] = []
    inbox.work({ handle: async ({ id }) => void handled.push(id) }, { concurrency: 1 })
    await until(async () => (await inbox.stats()).done === 5)
    expect(handled).toEqual(deliveries.map(({ id }) => id))
  })

  it('what somebody has who says nothing any more is taken over after one lease', async () => {
    let now = Date.now()
    const inbox = open({ clock: () => now, maxRetryDelay: 60_000 })
    await inbox.put(deliveryOf())
    const { gate, release } = createGate()
    const attempts: number[] = []
    const handle = async (_: unknown, context?: { attempt: number }) => {
      attempts.push(context?.attempt ?? 0)
      if (attempts.length === 1) await gate
    }
    inbox.work({ handle }, { concurrency: 1 })
    await until(() => attempts.length === 1)
    now -= HOUR
    inbox.work({ handle }, { concurrency: 1 })
    await inbox.put(deliveryOf()) // which makes it look for what is due
    await until(async () => (await inbox.stats()).done === 1)
    expect(attempts).toEqual([1, 1])
    now += 31_000
    await inbox.put(deliveryOf())
    await until(() => attempts.includes(2))
    release()
  })
})

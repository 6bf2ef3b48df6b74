import { afterEach, expect, it, vi } from 'vitest'
import type { DeliveriesTable } from '../../src/inbox/engine-port.ts'
import { readInboxOptions } from '../../src/inbox/inbox-options.ts'
import { createMemoryTable } from '../../src/inbox/memory/table.ts'
import { createTableInbox } from '../../src/inbox/table-inbox.ts'
import { until } from '../contract/inbox/fixture.ts'
import { createGate } from '../helpers/gate.ts'
import { deliveryOf, deliveryWithId, idOf } from './deliveries.ts'

const LEASE = 1_000
const ID = idOf('a')

const closing: (() => Promise<void>)[] = []
afterEach(async () => {
  vi.useRealTimers()
  for (const close of closing.splice(0)) await close()
})

/** Opens an inbox on a table in memory, some of whose methods are replaced. */
function open(replace: (table: DeliveriesTable) => Partial<DeliveriesTable> = () => ({})) {
  const time = { now: Date.now() }
  const clock = () => time.now
  const table = createMemoryTable(clock)
  const config = readInboxOptions({ lease: LEASE, attempts: 1 })
  const inbox = createTableInbox({ ...table, ...replace(table) }, config, clock)
  closing.push(() => inbox.close())
  return { inbox, table, time }
}

it('polls a paused inbox once a second, and takes deliveries at once after resume()', async () => {
  vi.useFakeTimers({
    toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'performance'],
  })
  const calls = { settings: 0, others: 0 }
  const { inbox } = open((table) => {
    const count = <Name extends 'take' | 'takeSuspect' | 'unhandled'>(name: Name) => ({
      [name]: (...values: unknown[]) => {
        calls.others++
        return (table[name] as (...values: unknown[]) => unknown)(...values)
      },
    })
    const settings = () => {
      calls.settings++
      return table.settings()
    }
    return { settings, ...count('take'), ...count('takeSuspect'), ...count('unhandled') }
  })
  await inbox.pause()
  await inbox.put(deliveryWithId(ID))
  const handled: string[] = []
  inbox.work({ handle: async ({ id }) => void handled.push(id) })
  await vi.advanceTimersByTimeAsync(60_000)
  expect(calls.others).toBe(0)
  expect(calls.settings).toBeGreaterThan(50)
  expect(calls.settings).toBeLessThan(70)
  await inbox.resume()
  await vi.advanceTimersByTimeAsync(0)
  expect(handled).toEqual([ID])
})

it('looks again for an unhandled delivery that it could not take, because the inbox had just been paused', async () => {
  let isReady = false
  const { inbox, table, time } = open((table) => ({
    async unhandled(query) {
      const entries = await table.unhandled(query)
      if (entries.length > 0 && !isReady) await table.set('paused', true)
      isReady ||= entries.length > 0
      return entries
    },
  }))
  await inbox.put(deliveryWithId(ID))
  const older = inbox.work({ handle: async () => 'unhandled' })
  await until(async () => (await inbox.get(ID))?.state === 'unhandled')
  await older.close()
  time.now += 120_000 // only the first scan of a worker goes back so far
  inbox.work({ handle: async () => {} })
  await until(() => isReady)
  await inbox.put(deliveryOf()) // the workers notice the pause
  await table.set('paused', false) // as another process would, so that nothing wakes them
  await until(async () => (await inbox.get(ID))?.state === 'done', 20_000)
})

it('lets other inboxes of the process take deliveries if it is paused while a suspect waits to run alone', async () => {
  const noted: unknown[] = []
  const { inbox, table, time } = open((table) => ({
    async takeSuspect(request) {
      const suspect = await table.takeSuspect(request)
      noted.push(suspect)
      return suspect
    },
  }))
  const busy = open().inbox
  await inbox.put(deliveryWithId(ID))
  await table.take({ owner: 'killed', handler: '', lease: LEASE, limit: 1, maxBytes: 1_000 })
  time.now += LEASE
  const { gate, release } = createGate()
  closing.unshift(async () => release())
  const handled: string[] = []
  busy.work({
    async handle({ id }) {
      if (handled.push(id) === 1) await gate
    },
  })
  await busy.put(deliveryOf())
  await until(() => handled.length === 1)
  inbox.work({ handle: async () => {} })
  await until(() => noted.includes('last'))
  await inbox.pause()
  await busy.put(deliveryOf())
  await until(() => handled.length === 2)
})

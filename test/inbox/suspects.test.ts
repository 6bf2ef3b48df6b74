import { expect, it } from 'vitest'
import { readInboxOptions } from '../../src/inbox/inbox-options.ts'
import { createMemoryTable } from '../../src/inbox/memory/table.ts'
import { createTableInbox } from '../../src/inbox/table-inbox.ts'
import { until } from '../contract/inbox/fixture.ts'
import { deliveryOf } from './deliveries.ts'

it('handles a suspect and later deliveries although another inbox of this process is always busy', async () => {
  let now = Date.now()
  const clock = () => now
  const table = createMemoryTable(clock)
  const inbox = createTableInbox(table, readInboxOptions({ attempts: 1 }), clock)
  await inbox.put(deliveryOf())
  await table.take({ owner: 'killed', handler: '', lease: 1_000, limit: 1, maxBytes: 1_000 })
  now += 1_000
  const busy = createTableInbox(createMemoryTable(clock), readInboxOptions({}), clock)
  let isOver = false
  const handle = async () => {
    if (!isOver) await busy.put(deliveryOf())
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  for (let i = 0; i < 3; i++) {
    await busy.put(deliveryOf())
    await new Promise((resolve) => setTimeout(resolve, 30))
    if (i === 0) busy.work({ handle })
  }
  inbox.work({ handle: async () => {} })
  await inbox.put(deliveryOf())
  try {
    await until(async () => (await inbox.stats()).done === 2, 10_000)
    expect((await inbox.stats()).dead).toBe(0)
  } finally {
    isOver = true
    await Promise.all([inbox.close(), busy.close()])
  }
})

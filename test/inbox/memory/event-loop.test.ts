import { createMemoryInbox } from 'geohook/inbox'
import { expect, it } from 'vitest'
import { until } from '../../contract/inbox/fixture.ts'
import { deliveryOf } from '../deliveries.ts'

const COUNT = 20_000

it('timers have their turn while handlers that wait for nothing are run', async () => {
  const inbox = createMemoryInbox()
  for (let i = 0; i < COUNT; i++) await inbox.put(deliveryOf())
  let handled = 0
  let handledThen = -1
  inbox.work({ handle: async () => void handled++ })
  const timer = setTimeout(() => {
    handledThen = handled
  }, 20)
  await until(() => handled === COUNT)
  clearTimeout(timer)
  expect(handledThen).toBeGreaterThan(0)
  expect(handledThen).toBeLessThan(COUNT)
  await inbox.close()
})

import { createMemoryInbox } from 'geohook/inbox'
import { expect, it } from 'vitest'
import { until } from '../../contract/inbox/fixture.ts'
import { deliveryOf } from '../deliveries.ts'

const COUNT = 20_000

it('lets timers run between handlers that never wait for I/O', async () => {
  const inbox = createMemoryInbox()
  for (let i = 0; i < COUNT; i++) await inbox.put(deliveryOf())
  let handled = 0
  let handledAtTimer = -1
  inbox.work({ handle: async () => void handled++ })
  const timer = setTimeout(() => {
    handledAtTimer = handled
  }, 20)
  await until(() => handled === COUNT)
  clearTimeout(timer)
  expect(handledAtTimer).toBeGreaterThan(0)
  expect(handledAtTimer).toBeLessThan(COUNT)
  await inbox.close()
})

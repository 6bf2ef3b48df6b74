import { createMemoryInbox } from 'geohook/inbox'
import { expect, it } from 'vitest'
import { until } from '../../contract/inbox/fixture.ts'
import { deliveryOf } from '../deliveries.ts'

const COUNT = 5_000

it('lets timers run between handlers that never wait for I/O', async () => {
  const inbox = createMemoryInbox()
  for (let i = 0; i < COUNT; i++) await inbox.put(deliveryOf())
  let handled = 0
  let handledAtTimer = COUNT
  inbox.work({
    async handle() {
      if (handled++ > 0) return
      setTimeout(() => {
        handledAtTimer = handled
      })
    },
  })
  await until(() => handled === COUNT)
  expect(handledAtTimer).toBeLessThan(COUNT)
  await inbox.close()
})

import { createMemoryInbox } from 'geohook/inbox'
import { expect, it } from 'vitest'
import { until } from '../contract/inbox/fixture.ts'
import { deliveryOf } from './files.ts'

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

it('what is due first is first, whatever else waits', async () => {
  const seed = Date.now()
  let state = seed
  const random = (below: number): number => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31
    return Math.floor((state / 2 ** 31) * below)
  }
  let now = 1_800_000_000_000
  const inbox = createMemoryInbox({ clock: () => now })
  const expected: { id: string; at: number; number: number }[] = []
  for (let number = 0; number < 500; number++) {
    now = 1_800_000_000_000 + random(200)
    const delivery = deliveryOf()
    await inbox.put(delivery)
    expected.push({ id: delivery.id, at: now, number })
  }
  now = 1_800_000_000_200
  for (const one of expected.filter(() => random(3) === 0)) {
    await inbox.retry(one.id)
    one.at = now
  }
  for (const { id } of expected.filter(() => random(10) === 0)) {
    await inbox.discard(id)
    expected.splice(
      expected.findIndex((one) => one.id === id),
      1,
    )
  }
  expected.sort((a, b) => a.at - b.at || a.number - b.number)
  const handled: string[] = []
  inbox.work({ handle: async ({ id }) => void handled.push(id) }, { concurrency: 1 })
  await until(() => handled.length === expected.length)
  expect(handled, `seed ${seed}`).toEqual(expected.map(({ id }) => id))
  await inbox.close()
})

import { expect, it } from 'vitest'
import { createBatches } from '../../src/inbox/batches.ts'

const numbers = (count: number): number[] => Array.from({ length: count }, (_, index) => index)

/** Creates batches whose sends stay in flight until `endAll` is called. */
function useBatches(limits: { items: number; inFlight: number; maxWait?: number }) {
  const sent: (readonly number[])[] = []
  const ends: (() => void)[] = []
  const add = createBatches<number, number>({ maxWait: 60_000, ...limits }, async (items) => {
    sent.push(items)
    await new Promise<void>((resolve) => ends.push(resolve))
    return items.map((item) => (item < 0 ? new Error(`bad ${item}`) : item))
  })
  const endAll = () => {
    for (const end of ends.splice(0)) end()
  }
  const tick = () => new Promise((resolve) => setTimeout(resolve))
  return { sent, add, tick, endAll }
}

it('sends the items of one tick in batches up to the limits, and the rest when a batch ends', async () => {
  const { sent, add, tick, endAll } = useBatches({ items: 4, inFlight: 2 })
  const results = Promise.all(numbers(10).map((item) => add(item, 1)))
  await tick()
  expect(sent).toEqual([
    [0, 1, 2, 3],
    [4, 5, 6, 7],
  ])
  endAll()
  await tick()
  expect(sent[2]).toEqual([8, 9])
  endAll()
  expect(await results).toEqual(numbers(10))
})

it('limits the bytes of a batch, and sends a larger item alone', async () => {
  const { sent, add, tick, endAll } = useBatches({ items: 100, inFlight: 100 })
  const sizes = [600_000, 600_000, 3_000_000, 1_048_575, 1]
  const results = Promise.all(sizes.map((bytes, index) => add(index, bytes)))
  await tick()
  expect(sent).toEqual([[0], [1], [2], [3, 4]])
  endAll()
  await results
})

it('rejects only the failed items of a batch', async () => {
  const { add, tick, endAll } = useBatches({ items: 100, inFlight: 1 })
  const results = Promise.allSettled([1, -2, 3].map((item) => add(item, 1)))
  await tick()
  endAll()
  expect(await results).toEqual([
    { status: 'fulfilled', value: 1 },
    { status: 'rejected', reason: new Error('bad -2') },
    { status: 'fulfilled', value: 3 },
  ])
})

it('rejects all items of a batch that cannot be sent, and sends later items', async () => {
  let isDown = true
  const add = createBatches<number, number>({ items: 2, inFlight: 1, maxWait: 60_000 }, async (items) => {
    if (isDown) throw new Error('down')
    return items
  })
  const failed = await Promise.allSettled([add(1, 1), add(2, 1)])
  expect(failed.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
  isDown = false
  expect(await add(3, 1)).toBe(3)
})

it('rejects an item queued longer than maxWait without sending it, and sends later items', async () => {
  const { sent, add, tick, endAll } = useBatches({ items: 1, inFlight: 1, maxWait: 50 })
  const first = add(1, 1)
  await expect(Promise.all([add(2, 1), add(3, 1)])).rejects.toThrow('overloaded')
  await tick()
  const last = add(4, 1)
  endAll()
  await tick()
  endAll()
  // The first item also took longer than maxWait, but it was already in flight.
  expect(await Promise.all([first, last])).toEqual([1, 4])
  expect(sent).toEqual([[1], [4]])
})

import { expect, it } from 'vitest'
import { readInboxOptions } from '../../src/inbox/inbox-options.ts'
import { startRetentionSweep } from '../../src/inbox/retention-sweep.ts'
import { until } from '../contract/inbox/fixture.ts'

it('reports an error of the store, and sweeps again', async () => {
  const errors: unknown[] = []
  const calls: [string, number][] = []
  const down = new Error('down')
  const config = readInboxOptions({
    retention: 20,
    deadRetention: 300,
    observer: { trouble: ({ error }) => errors.push(error) },
  })
  const purge = async (state: string, age: number) => {
    calls.push([state, age])
    if (calls.length === 1) throw down
    return calls.length === 2 ? 5 : 0
  }
  const sweep = startRetentionSweep({ purge }, config)
  await until(() => calls.length >= 5)
  await sweep.close()
  expect(errors).toEqual([down])
  expect(calls.slice(0, 4)).toEqual([
    ['done', 20],
    ['done', 20],
    ['done', 20], // until nothing is left
    ['dead', 300],
  ])
})

it('ends a sweep between two transactions when it is closed, and waits for it', async () => {
  let calls = 0
  let isRunning = false
  const purge = async () => {
    calls++
    isRunning = true
    await new Promise((resolve) => setTimeout(resolve, 20))
    isRunning = false
    return 1_000
  }
  const sweep = startRetentionSweep({ purge }, readInboxOptions({ retention: 1 }))
  await until(() => isRunning)
  const before = calls
  await sweep.close()
  expect([calls, isRunning]).toEqual([before, false])
})

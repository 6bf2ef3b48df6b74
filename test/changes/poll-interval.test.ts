import { createChanges } from 'geohook/changes'
import { expect, it, onTestFinished, vi } from 'vitest'
import { toEvent } from './support.ts'

const ORIGIN = 'https://gis.example.com'

it('limits the time between two polls to that of the longest timer', async () => {
  const controller = new AbortController()
  const delays: number[] = []
  const { setTimeout } = globalThis
  const timers = vi.spyOn(globalThis, 'setTimeout').mockImplementation(((run: () => void, delay = 0) => {
    if (delay > 1e9) {
      delays.push(delay)
      controller.abort(new Error('stop'))
    }
    return setTimeout(run, delay)
  }) as typeof setTimeout)
  const random = vi.spyOn(Math, 'random').mockReturnValue(0.99)
  onTestFinished(() => {
    timers.mockRestore()
    random.mockRestore()
  })
  const changes = createChanges({
    origins: [ORIGIN],
    pollInterval: { min: 2e9, max: 2 ** 31 - 1 },
    fetch: async () => Response.json({ statusUrl: `${ORIGIN}/jobs/1` }),
  })
  const event = toEvent(`${ORIGIN}/rest/services/P/FeatureServer/extractChanges?serverGens=[1,2]`)
  await expect(changes.of(event, { signal: controller.signal })).rejects.toThrow('stop')
  expect(delays).toEqual([2 ** 31 - 1])
})

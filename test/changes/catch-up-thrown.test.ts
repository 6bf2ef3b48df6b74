import { createChanges } from 'geohook/changes'
import { createMemoryInbox } from 'geohook/inbox'
import { expect, it } from 'vitest'
import { warningsOf } from '../helpers/warnings.ts'
import { startHostile } from './contract/hostile-server.ts'

const layerServerGens = [{ id: 0, serverGen: 5 }]

it.each([
  ['with onError', { onError: () => {} }],
  ['without onError', {}],
])(
  'catchUp continues after resync throws an object that cannot be converted to a string, %s',
  async (_, options) => {
    const server = await startHostile({ FeatureServer: { changeTrackingInfo: { layerServerGens } } })
    const changes = createChanges({ origins: [server.origin], inbox: createMemoryInbox() })
    let copies = 0
    const resync = (): void => {
      copies++
      throw Object.create(null)
    }
    const catchUp = changes.catchUp({ services: [server.url], resync, ...options })
    await catchUp.poll()
    expect(copies).toBe(2)
    await catchUp.close()
  },
)

it.each([
  new DOMException('late', 'TimeoutError'),
  Object.assign(new Error('late'), { code: 400 }),
  Object.assign(new Error('late'), { code: null }),
])('catchUp warns about an error of resync whose code is not text', async (error) => {
  const server = await startHostile({ FeatureServer: { changeTrackingInfo: { layerServerGens } } })
  const changes = createChanges({ origins: [server.origin], inbox: createMemoryInbox() })
  const catchUp = changes.catchUp({ services: [server.url], resync: () => Promise.reject(error) })
  const warnings = await warningsOf(() => catchUp.poll())
  await catchUp.close()
  expect(warnings).toEqual([expect.stringMatching(/late/)])
})

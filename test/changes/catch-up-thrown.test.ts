import { createChanges } from 'geohook/changes'
import { createMemoryInbox } from 'geohook/inbox'
import { expect, it } from 'vitest'
import { startHostile } from './contract/hostile-server.ts'

it.each([
  ['with onError', { onError: () => {} }],
  ['without onError', {}],
])(
  'catchUp continues after resync throws an object that cannot be converted to a string, %s',
  async (_, options) => {
    const layerServerGens = [{ id: 0, serverGen: 5 }]
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

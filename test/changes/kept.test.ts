import { createChanges } from 'geohook/changes'
import { createMemoryInbox } from 'geohook/inbox'
import { expect, it } from 'vitest'
import { startHostile } from './contract/hostile-server.ts'
import { toEvent } from './support.ts'

/** A service at generation 200, whose layer 1 has had no edit since generation 50. */
const layerServerGens = [
  { id: 0, minServerGen: 100, serverGen: 200 },
  { id: 1, minServerGen: 100, serverGen: 50 },
]

it.each([
  ['the job of a new delivery fails, and a layer had no edits', 200, 'changes_failed'],
  ['an old delivery is handled again after its changes were removed', 150, 'changes_failed'],
  ['the changes after the stored generation were removed', 90, 'resync_required'],
  ['the service has a lower generation than the stored one', 201, 'resync_required'],
])('%s: stored %i, %s', async (_, stored, code) => {
  const server = await startHostile({
    extractChanges: { error: { code: 400, message: 'no' } },
    FeatureServer: { changeTrackingInfo: { layerServerGens } },
  })
  const inbox = createMemoryInbox()
  await inbox.generations.replace(
    server.url,
    new Map([
      [0, stored],
      [1, stored],
    ]),
  )
  const changes = createChanges({ origins: [server.origin], inbox })
  const event = toEvent(`${server.url}/extractChanges?serverGens=[${stored === 200 ? 200 : 20},210]`)
  await expect(changes.of(event, { onSuccess: () => {} })).rejects.toMatchObject({ code })
})

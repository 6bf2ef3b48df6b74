import { createReceiver } from 'geohook'
import { createChanges, createSnapshots } from 'geohook/changes'
import { createMemoryInbox, createMemoryRows } from 'geohook/inbox'
import { expect, it, onTestFinished } from 'vitest'
import { startHostile } from './contract/hostile-server.ts'

it('attempts with the same signal share nothing', async () => {
  let name = 'oak'
  const server = await startHostile({
    extractChanges: (res) =>
      res.end(
        JSON.stringify({
          layerServerGens: [{ id: 0, serverGen: 5 }],
          edits: [{ id: 0, features: { updates: [{ attributes: { GlobalID: 'a', name } }] } }],
        }),
      ),
  })
  const inbox = createMemoryInbox()
  onTestFinished(() => inbox.close())
  const changes = createChanges({ origins: [server.origin], inbox })
  const snapshots = createSnapshots({ store: createMemoryRows() })
  await snapshots.fill(server.url, 0, [{ attributes: { GlobalID: 'a', name: 'elm' } }])
  const seen: unknown[] = []
  const receiver = createReceiver({ signatureKey: 'k' }).on('*', async (event, _, context) => {
    const [layer] = await snapshots.compare(await changes.of(event, context), context)
    for (const { before, after } of layer?.features ?? [])
      seen.push([before?.attributes.name, after?.attributes.name])
    if (context.attempt === 1) throw new Error('first')
  })
  const stored = {
    id: '0'.repeat(32),
    rawBody: new TextEncoder().encode(
      JSON.stringify({ changesUrl: server.event.changesUrl, events: [{ eventType: 'FeaturesEdited' }] }),
    ),
    contentType: 'application/json',
    headers: {},
    receivedAt: new Date(),
    profile: 'service',
  }
  // A worker of an inbox of your own may pass a signal that lives as long as the process.
  const { signal } = new AbortController()
  await expect(receiver.handle(stored, { signal, attempt: 1 })).rejects.toThrow('first')
  name = 'ash'
  await receiver.handle(stored, { signal, attempt: 2 })
  expect(seen).toEqual([
    ['elm', 'oak'],
    ['elm', 'ash'],
  ])
  expect(await inbox.generations.get(server.url)).toEqual(new Map([[0, 2]]))
})

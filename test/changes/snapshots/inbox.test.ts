import { createReceiver } from 'geohook'
import { createChanges, createSnapshots } from 'geohook/changes'
import { createMemoryInbox, createMemoryRows } from 'geohook/inbox'
import { expect, it, onTestFinished } from 'vitest'
import { until } from '../../contract/inbox/fixture.ts'
import { deliver, KEY } from '../../helpers/deliver.ts'
import { startParcels } from '../../mock/features/extract/support.ts'

it('a failed attempt in an inbox sees the same rows again, and a later delivery the new ones', async () => {
  const { url, add, post, generation } = await startParcels()
  const inbox = createMemoryInbox({ retryDelay: 1, observer: { failed() {} } })
  onTestFinished(() => inbox.close())
  const changes = createChanges({ origins: [new URL(url).origin], inbox, pollInterval: { min: 1, max: 2 } })
  const snapshots = createSnapshots({ store: createMemoryRows() })
  const seen: [before: unknown, after: unknown, changed: string[]][] = []
  const receiver = createReceiver({ signatureKey: KEY, inbox }).on('*', async (event, _, context) => {
    const layers = await snapshots.compare(await changes.of(event, context), context)
    for (const { before, after, changed = [] } of layers.flatMap(({ features }) => features))
      seen.push([before?.attributes.name, after?.attributes.name, changed.filter((name) => name === 'name')])
    if (context.attempt === 1) throw new Error('first')
  })
  inbox.work(receiver)
  let begin = await generation()
  const handle = async (done: number): Promise<void> => {
    const end = await generation()
    const events = [{ eventType: 'FeaturesEdited', when: Date.now() }]
    const changesUrl = `${url}/extractChanges?serverGens=[${begin},${end}]`
    begin = end
    await deliver(receiver, JSON.stringify({ serviceName: 'Parcels', changesUrl, events }))
    await until(async () => (await inbox.stats()).done === done)
  }
  const [OBJECTID] = await add('oak')
  await handle(1)
  await post('/0/updateFeatures', { features: [{ attributes: { OBJECTID, name: 'ash' } }] })
  await handle(2)
  expect(seen).toEqual([
    [undefined, 'oak', []],
    [undefined, 'oak', []],
    ['oak', 'ash', ['name']],
    ['oak', 'ash', ['name']],
  ])
})

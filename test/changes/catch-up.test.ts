import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createReceiver, type Delivery, parsePayload, type WebhookEvent } from 'geohook'
import { type CatchUpOptions, createChanges, type LayerChanges, type ResyncContext } from 'geohook/changes'
import { createMemoryInbox } from 'geohook/inbox'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { until } from '../contract/inbox/fixture.ts'
import { KEY } from '../helpers/deliver.ts'
import { type Parcels, startParcels } from '../mock/features/extract/support.ts'

/** A mock whose edits no delivery announces, and a receiver that catches up with them. */
async function start(given?: Parcels) {
  const parcels = given ?? (await startParcels())
  const inbox = createMemoryInbox()
  onTestFinished(() => inbox.close())
  const changes = createChanges({
    origins: [new URL(parcels.url).origin],
    inbox,
    pollInterval: { min: 1, max: 10 },
  })
  const seen: { event: WebhookEvent; layers: LayerChanges[] }[] = []
  const receiver = createReceiver({ signatureKey: KEY, inbox }).on('*', async (event, _, context) => {
    const { layers } = await changes.of(event, context)
    seen.push({ event, layers })
  })
  const errors: unknown[] = []

  function catchUp(options: Partial<CatchUpOptions> = {}) {
    const running = changes.catchUp({
      services: [parcels.url],
      onError: (error) => errors.push(error),
      ...options,
    })
    onTestFinished(() => running.close())
    return running
  }
  const idle = () =>
    until(async () => {
      const { waiting, active } = await inbox.stats()
      return waiting + active === 0
    })
  const names = () =>
    seen.flatMap(({ layers }) =>
      layers.flatMap(({ adds, updates }) => [...adds, ...updates].map(({ attributes }) => attributes.name)),
    )
  return { ...parcels, parcels, inbox, changes, receiver, seen, names, errors, catchUp, idle }
}

type Started = Awaited<ReturnType<typeof start>>

async function listen(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** Drops the history of the mock up to its current generation. */
async function purge({ service, generation }: Started): Promise<void> {
  const url = `${service.url}/rest/admin/services/Parcels/FeatureServer/cleanupChangeTracking`
  const body = new URLSearchParams({ f: 'json', minServerGen: String(await generation()) })
  const response = await fetch(url, { method: 'POST', body })
  expect(await response.json()).toEqual({ success: true })
}

describe('catchUp', () => {
  it('begins with the current generations at the first start', async () => {
    const { inbox, receiver, add, catchUp, seen, errors, url, generation } = await start()
    await add('before')
    inbox.work(receiver)
    await catchUp().poll()
    expect(await inbox.generations.get(url)).toEqual(new Map([[0, await generation()]]))
    expect(seen).toEqual([])
    expect(errors).toEqual([])
  })

  it('puts an announcement into the inbox that equals what its body decodes to', async () => {
    const { inbox, add, catchUp } = await start()
    const { poll } = catchUp()
    await poll()
    const put = vi.spyOn(inbox, 'put')
    await add('one')
    await poll() // leaves the change to its delivery
    await poll()
    const [announcement] = put.mock.calls[0] as [Delivery]
    const { rawBody, contentType, payload, changeTypes, events } = announcement
    const parsed = parsePayload({ body: rawBody, contentType })
    expect({ ok: true, payload, changeTypes, events }).toEqual(parsed)
    expect(events[0]?.changesUrl).toMatch(/^http/)
  })

  it('hands over changes that no delivery announced, as an event of the kind caught_up', async () => {
    const { inbox, receiver, add, catchUp, seen, names, idle, url, generation } = await start()
    inbox.work(receiver)
    const first = catchUp()
    await first.poll()
    await first.close()
    await add('oak', 'ash')

    await catchUp().poll()
    await idle()
    expect(names()).toEqual(['oak', 'ash'])
    expect(seen).toHaveLength(1)
    expect(seen[0]?.event).toMatchObject({
      kind: 'caught_up',
      changeType: 'FeaturesEdited',
      service: { folderName: '', serviceName: 'Parcels', serviceType: 'FeatureServer' },
    })
    expect(await inbox.generations.get(url)).toEqual(new Map([[0, await generation()]]))
  })

  it('leaves new changes to their deliveries until the next poll', async () => {
    const { inbox, receiver, add, catchUp, names, idle } = await start()
    inbox.work(receiver)
    const running = catchUp()
    await running.poll()
    await add('oak')
    await running.poll()
    await idle()
    expect(names()).toEqual([])
    await running.poll()
    await idle()
    expect(names()).toEqual(['oak'])
  })

  it('polls at intervals', async () => {
    const { inbox, receiver, add, catchUp, names } = await start()
    inbox.work(receiver)
    await catchUp({ every: 100 }).poll()
    await add('oak')
    await until(() => names().includes('oak'))
  })

  it('announces nothing twice while an announcement is waiting, and continues after a failure', async () => {
    const { inbox, receiver, add, catchUp, names, idle } = await start()
    const running = catchUp()
    await running.poll()
    await add('oak')
    await running.poll()
    await running.poll()
    await add('ash')
    await running.poll()
    await running.poll()
    expect(await inbox.stats()).toMatchObject({ waiting: 1 })
    inbox.work(receiver)
    await idle()
    await running.poll()
    await idle()
    expect(new Set(names())).toEqual(new Set(['oak', 'ash']))
  })

  it('announces the same changes once if several processes find them', async () => {
    const started = await start()
    const { add, catchUp, inbox } = started
    const first = catchUp()
    const second = catchUp()
    await Promise.all([first.poll(), second.poll()])
    await add('oak')
    for (const running of [first, second, first, second]) await running.poll()
    expect(await inbox.stats()).toMatchObject({ waiting: 1 })
  })

  it('copies a service at the first start if there is a function resync', async () => {
    const { inbox, catchUp, url, generation, add } = await start()
    await add('oak')
    const copied: [string, string][] = []
    const resync = (service: string, { reason }: ResyncContext) => copied.push([service, reason])
    const running = catchUp({ resync })
    await running.poll()
    await running.poll()
    expect(copied).toEqual([[url, 'first_start']])
    expect(await inbox.generations.get(url)).toEqual(new Map([[0, await generation()]]))
  })

  it('copies a service at the first start also if deliveries were handled before', async () => {
    const { inbox, catchUp, url, generation, add } = await start()
    await add('oak')
    await inbox.generations.raise(url, new Map([[0, await generation()]]))
    let tries = 0
    const running = catchUp({
      resync() {
        tries++
        if (tries === 1) throw new Error('no space')
      },
    })
    for (let poll = 0; poll < 3; poll++) await running.poll()
    expect(tries).toBe(2)
    expect(await inbox.generations.get(url)).toEqual(new Map([[0, await generation()]]))
  })

  it('copies a service again after a failed copy', async () => {
    const { inbox, catchUp, url, errors } = await start()
    let tries = 0
    const running = catchUp({
      resync: () => {
        tries++
        if (tries === 1) throw new Error('no space')
      },
    })
    await running.poll() // the second poll: the first begins by itself
    expect(errors).toEqual([new Error('no space')])
    expect(tries).toBe(2)
    expect((await inbox.generations.get(url)).size).toBe(1)
  })

  it('reports resync_required if the changes are no longer kept, and continues after resync', async () => {
    const started = await start()
    const { inbox, receiver, changes, catchUp, errors, names, idle, add, url } = started
    await catchUp().poll()
    await add('oak')
    await purge(started)

    const running = catchUp()
    await running.poll()
    expect(errors.length).toBeGreaterThan(0)
    expect(errors[0]).toMatchObject({
      code: 'resync_required',
      message: expect.stringContaining(url),
      hint: expect.stringContaining('changes.resync'),
    })

    const copied: unknown[] = []
    await changes.resync(url, (service, { reason }) => copied.push(service, reason))
    expect(copied).toEqual([url, 'requested'])
    inbox.work(receiver)
    await add('ash')
    await running.poll()
    await running.poll()
    await idle()
    expect(names()).toEqual(['ash'])
  })

  it('calls resync with the reason purged', async () => {
    const started = await start()
    const reasons: string[] = []
    const running = started.catchUp({ resync: (_, { reason }) => reasons.push(reason) })
    await running.poll()
    await started.add('oak')
    await purge(started)
    await running.poll()
    expect(reasons).toEqual(['first_start', 'purged'])
    expect(started.errors).toEqual([])
  })

  it('calls resync with the reason reset if the generations of the service begin again', async () => {
    let generation = 500
    const server = createServer((_, res) => {
      const layerServerGens = [{ id: 0, minServerGen: 10, serverGen: generation }]
      res.end(JSON.stringify({ capabilities: 'ChangeTracking', changeTrackingInfo: { layerServerGens } }))
    })
    const origin = await listen(server)
    const inbox = createMemoryInbox()
    onTestFinished(() => inbox.close())
    const changes = createChanges({ origins: [origin], inbox })
    const url = `${origin}/rest/services/Parcels/FeatureServer`
    const reasons: string[] = []
    const catchUp = async () => {
      const running = changes.catchUp({ services: [url], resync: (_, { reason }) => reasons.push(reason) })
      await running.poll()
      await running.close()
    }
    await catchUp()
    generation = 20
    await catchUp()
    expect(reasons).toEqual(['first_start', 'reset'])
    expect(await inbox.generations.get(url)).toEqual(new Map([[0, 20]]))
  })

  it('reports a service that cannot be asked, and still asks the others', async () => {
    const { inbox, catchUp, url, errors } = await start()
    const missing = url.replace('Parcels', 'Missing')
    await catchUp({ services: [missing, url] }).poll()
    expect(errors[0]).toMatchObject({ code: 'changes_failed' })
    expect((await inbox.generations.get(url)).size).toBe(1)
  })

  it('stops when it is closed, also during a copy', async () => {
    const { catchUp, errors } = await start()
    const reasons: unknown[] = []
    let began = () => {}
    const beginning = new Promise<void>((resolve) => {
      began = resolve
    })
    const running = catchUp({
      every: 100,
      resync: (_, { signal }) =>
        new Promise((_, reject) => {
          began()
          signal.addEventListener('abort', () => {
            reasons.push(signal.reason)
            reject(signal.reason)
          })
        }),
    })
    await beginning
    await running.close()
    expect(reasons).toHaveLength(1)
    expect(errors).toEqual([])
  })

  it.each([
    [{ services: [] }, 'services must be an array'],
    [{ services: ['https://other.example/arcgis/rest/services/P/FeatureServer'] }, 'origins'],
    [{ services: ['not a URL'] }, 'plain http or https URL'],
    [{ every: 99 }, 'every must be a whole number'],
    [{ resync: 'copy' }, 'resync must be a function'],
    [{ onCaughtUp: true }, 'onCaughtUp must be a function'],
    [{ evry: 100 }, 'did you mean every?'],
  ])('rejects %j', async (options, message) => {
    const { changes, parcels } = await start()
    const all = { services: [parcels.url], ...options } as CatchUpOptions
    expect(() => changes.catchUp(all)).toThrow(
      expect.objectContaining({ code: 'config_invalid', message: expect.stringContaining(message) }),
    )
  })

  it('needs an inbox', async () => {
    const changes = createChanges({ origins: ['https://gis.example'] })
    expect(() =>
      changes.catchUp({ services: ['https://gis.example/rest/services/P/FeatureServer'] }),
    ).toThrow(expect.objectContaining({ code: 'config_invalid' }))
  })
})

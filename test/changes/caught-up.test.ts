import { createReceiver } from 'geohook'
import { type CatchUpOptions, createChanges } from 'geohook/changes'
import { createMemoryInbox } from 'geohook/inbox'
import { describe, expect, it, onTestFinished } from 'vitest'
import { until } from '../contract/inbox/fixture.ts'
import { KEY } from '../helpers/deliver.ts'
import { serve } from '../helpers/served.ts'
import { startParcels } from '../mock/features/extract/support.ts'

/** A mock whose edits no delivery announces, and the calls of `onCaughtUp` and `onError`. */
async function start() {
  const parcels = await startParcels()
  const inbox = createMemoryInbox()
  onTestFinished(() => inbox.close())
  const origins = [new URL(parcels.url).origin]
  const changes = createChanges({ origins, inbox, pollInterval: { min: 1, max: 10 } })
  const receiver = createReceiver({ signatureKey: KEY, inbox }).on('*', (event, _, context) =>
    changes.of(event, context),
  )
  const calls: string[] = []
  return {
    ...parcels,
    calls,
    catchUp(options: Partial<CatchUpOptions> = {}) {
      const running = changes.catchUp({
        services: [parcels.url],
        onCaughtUp: (service) => calls.push(`caught up: ${service}`),
        onError: (error) => calls.push(String(error)),
        ...options,
      })
      onTestFinished(() => running.close())
      return running
    },
    work: () => inbox.work(receiver),
    handled: () =>
      until(async () => {
        const { waiting, active } = await inbox.stats()
        return waiting + active === 0
      }),
  }
}

// The first poll begins by itself, so the first call of poll() waits for two polls.
describe('onCaughtUp', () => {
  it('is called once at the first start, where nothing is missing', async () => {
    const { catchUp, calls, url } = await start()
    const { poll } = catchUp()
    for (let polls = 0; polls < 3; polls++) await poll()
    expect(calls).toEqual([`caught up: ${url}`])
  })

  it('is called when missing changes have been handled, and not before', async () => {
    const { catchUp, calls, url, add, work, handled } = await start()
    const first = catchUp()
    await first.poll()
    await first.close()
    calls.length = 0
    await add('oak')
    const { poll } = catchUp()
    for (let polls = 0; polls < 3; polls++) await poll()
    expect(calls).toEqual([])
    work()
    await handled()
    for (let polls = 0; polls < 3; polls++) await poll()
    expect(calls).toEqual([`caught up: ${url}`])
  })

  it('is called right after a copy, also if the service was caught up before', async () => {
    const { catchUp, calls, url, add, generation, service } = await start()
    const running = catchUp({ resync: (_, { reason }) => calls.push(`copy: ${reason}`) })
    await running.poll()
    expect(calls).toEqual(['copy: first_start', `caught up: ${url}`])
    await add('oak')
    const admin = `${service.url}/rest/admin/services/Parcels/FeatureServer/cleanupChangeTracking`
    const minServerGen = String(await generation())
    await fetch(admin, { method: 'POST', body: new URLSearchParams({ f: 'json', minServerGen }) })
    await running.poll()
    expect(calls.slice(2)).toEqual(['copy: purged', `caught up: ${url}`])
  })

  it('is called after a copy only once the edits during the copy have been handled', async () => {
    const { catchUp, calls, url, add, work, handled } = await start()
    const running = catchUp({ resync: () => add('oak') })
    await running.poll()
    await running.poll()
    expect(calls).toEqual([])
    work()
    await handled()
    await running.poll()
    expect(calls).toEqual([`caught up: ${url}`])
  })

  it('does not wait for edits that were made after the previous poll, nor is it called again for them', async () => {
    const { catchUp, calls, url, add, work, handled } = await start()
    const running = catchUp()
    await running.poll()
    work()
    await add('oak') // no delivery announces it
    await running.poll()
    expect(calls).toHaveLength(1)
    await running.poll() // announces it
    await handled()
    await add('ash')
    await running.poll()
    expect(calls).toEqual([`caught up: ${url}`, `caught up: ${url}`])
  })

  it('is called again after an error', async () => {
    let isDown = false
    const server = await serve((_, res) => {
      const layerServerGens = [{ id: 0, minServerGen: 1, serverGen: 5 }]
      const error = { error: { code: 400, message: 'stopped' } }
      res.end(JSON.stringify(isDown ? error : { changeTrackingInfo: { layerServerGens } }))
    })
    const inbox = createMemoryInbox()
    onTestFinished(() => inbox.close())
    const calls: string[] = []
    const running = createChanges({ origins: [server.url], inbox }).catchUp({
      services: [`${server.url}/rest/services/Parcels/FeatureServer`],
      onCaughtUp: () => calls.push('caught up'),
      onError: () => calls.push('error'),
    })
    onTestFinished(() => running.close())
    await running.poll()
    isDown = true
    await running.poll()
    isDown = false
    await running.poll()
    await running.poll()
    expect(calls).toEqual(['caught up', 'error', 'caught up'])
  })

  it.each<[string, () => unknown]>([
    [
      'throws',
      () => {
        throw new Error('mine')
      },
    ],
    ['rejects', () => Promise.reject(new Error('mine'))],
  ])('that %s does not fail the poll', async (_, fail) => {
    const { catchUp, calls } = await start()
    let count = 0
    const running = catchUp({ onCaughtUp: () => [count++, fail()][1] })
    await running.poll()
    expect(count).toBe(1)
    expect(calls).toEqual([])
  })
})

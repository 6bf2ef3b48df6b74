import type { ServerResponse } from 'node:http'
import { parsePayload } from 'geohook'
import type { MockService } from 'geohook/mock'
import { describe, expect, it, vi } from 'vitest'
import { type Captured, capture, create, FEATURE, NOWHERE, seed, start } from '../support.ts'
import { get, type Json, LAYER, post, SERVICE, TREES } from './support.ts'

const oak = { attributes: { kind: 'oak', count: 1 } }

async function startWithWebhook(options = {}, changeTypes = ['*']) {
  const receiver = await capture()
  const webhook = seed(FEATURE, { hookUrl: receiver.url, changeTypes, scheduleInfo: {} })
  const service = await start([webhook], {
    services: [
      { serviceName: 'Parcels', serviceType: 'FeatureServer', layers: [TREES, { ...TREES, name: 'More' }] },
    ],
    ...options,
  })
  return { service, receiver }
}

/** Waits until the receiver has got a number of requests. */
const waitFor = (requests: readonly Captured[], count: number) =>
  vi.waitFor(() => expect(requests).toHaveLength(count), { timeout: 60_000 })

const payloadOf = ({ body }: Captured): Json => JSON.parse(body.toString())

/** The generations in a changes URL. */
function generationsOf({ changesUrl }: Json): number[] {
  const [, min, max] = /serverGens=(?:%5B|\[)(\d+),(\d+)(?:%5D|\])/.exec(changesUrl) ?? []
  return [Number(min), Number(max)]
}

const generationOf = async (service: MockService): Promise<number> =>
  (await get(service, SERVICE, { returnUpdates: true })).changeTrackingInfo.layerServerGens[0].serverGen

describe('an edit', () => {
  it('sends all its events to a webhook in one delivery, with generations without gaps', async () => {
    const { service, receiver } = await startWithWebhook()
    const before = await generationOf(service)
    await post(service, `${SERVICE}/applyEdits`, {
      edits: [
        { id: 0, adds: [oak, oak] },
        { id: 1, adds: [oak] },
      ],
    })
    await waitFor(receiver.requests, 1)
    await post(service, `${LAYER}/applyEdits`, {
      adds: [oak],
      updates: [{ attributes: { OBJECTID: 1, kind: 'elm' } }],
      deletes: [2],
    })
    await waitFor(receiver.requests, 2)
    const [first, second] = receiver.requests.map(payloadOf)
    expect(first.events.map(({ eventType }: Json) => eventType)).toEqual(['FeaturesCreated'])
    expect(generationsOf(first)).toEqual([before, before + 2])
    expect(second.events.map(({ eventType }: Json) => eventType)).toEqual([
      'FeaturesCreated',
      'FeaturesUpdated',
      'FeaturesDeleted',
    ])
    expect(generationsOf(second)).toEqual([before + 2, before + 5])
    expect(await generationOf(service)).toBe(before + 5)
  })

  it('reaches only webhooks that are subscribed to it', async () => {
    const { service, receiver } = await startWithWebhook({}, ['FeaturesDeleted'])
    await post(service, `${LAYER}/applyEdits`, { adds: [oak] })
    await post(service, `${LAYER}/applyEdits`, { adds: [oak], deletes: [1] })
    await waitFor(receiver.requests, 1)
    expect(payloadOf(receiver.requests[0]!).events).toMatchObject([{ eventType: 'FeaturesDeleted' }])
    expect(service.deliveries).toHaveLength(1)
  })

  it('sends events of attachments, but none for those that are deleted with their feature', async () => {
    const { service, receiver } = await startWithWebhook()
    const { addResults } = await post(service, `${LAYER}/addFeatures`, { features: [oak] })
    const file = { parentGlobalId: addResults[0].globalId, name: 'a', contentType: 'a/b', data: '' }
    await post(service, `${LAYER}/applyEdits`, { attachments: { adds: [file] } })
    await waitFor(receiver.requests, 2)
    await post(service, `${LAYER}/deleteFeatures`, { objectIds: 1 })
    await waitFor(receiver.requests, 3)
    expect(receiver.requests.map(payloadOf).map(({ events }) => events)).toMatchObject([
      [{ eventType: 'FeaturesCreated' }],
      [{ eventType: 'AttachmentsCreated' }],
      [{ eventType: 'FeaturesDeleted' }],
    ])
  })

  it('that fails sends nothing', async () => {
    const { service } = await startWithWebhook()
    const before = await generationOf(service)
    await post(service, `${LAYER}/applyEdits`, { adds: [oak], deletes: [99] })
    expect(service.deliveries).toEqual([])
    expect(await generationOf(service)).toBe(before)
  })

  it('is answered before its deliveries have ended', async () => {
    const held: ServerResponse[] = []
    const receiver = await capture((_req, res) => void held.push(res))
    const service = await start([seed(FEATURE, { hookUrl: receiver.url, changeTypes: ['*'] })])
    const { addResults } = await post(service, `${LAYER}/addFeatures`, { features: [{}] })
    expect(addResults).toMatchObject([{ success: true }])
    await waitFor(receiver.requests, 1)
    expect(service.deliveries).toHaveLength(1)
    expect(service.deliveries[0]).not.toHaveProperty('milliseconds') // set when an attempt ends
    for (const response of held) response.end()
  })

  it('and a triggered event share their generations', async () => {
    const { service, receiver } = await startWithWebhook()
    const before = await generationOf(service)
    await service.trigger({ serviceName: 'Parcels', changeType: 'FeaturesCreated', layerIds: [0, 1] })
    await post(service, `${LAYER}/addFeatures`, { features: [oak] })
    await waitFor(receiver.requests, 2)
    expect(receiver.requests.map(payloadOf).map(generationsOf)).toEqual([
      [before, before + 2],
      [before + 2, before + 3],
    ])
  })
})

describe('changesUrl', () => {
  it.each(['service', 'hosted'] as const)('leads to the mock itself in the dialect %s', async (dialect) => {
    const { service, receiver } = await startWithWebhook({ like: { dialect } })
    await post(service, `${LAYER}/addFeatures`, { features: [oak] })
    await waitFor(receiver.requests, 1)
    const { body, headers } = receiver.requests[0]!
    const parsed = parsePayload({ body, contentType: headers['content-type'] })
    const expected = `${service.url}/rest/services/Parcels/FeatureServer/extractChanges?serverGens=`
    expect(parsed.ok && parsed.events[0]?.changesUrl?.slice(0, expected.length)).toBe(expected)
  })

  it('leads to the option serverUrl', async () => {
    const { service, receiver } = await startWithWebhook({ serverUrl: 'https://gis.example/server/rest/' })
    await service.trigger({ serviceName: 'Parcels', changeType: 'FeaturesCreated' })
    expect(payloadOf(receiver.requests[0]!).changesUrl).toMatch(
      /^https:\/\/gis\.example\/server\/rest\/services\/Parcels\/FeatureServer\//,
    )
  })

  it('leads to an example host if the mock does not listen', async () => {
    const service = create([seed(FEATURE, { hookUrl: NOWHERE, changeTypes: ['*'] })])
    const [attempt] = await service.trigger({ serviceName: 'Parcels', changeType: 'FeaturesCreated' })
    expect(Buffer.from(attempt!.request.body).toString()).toContain('https://server.example/server/rest')
  })

  it.each(['gis.example', 'ftp://gis.example', 'https://u:p@gis.example', 'https://gis.example?a=b'])(
    'cannot lead to %s',
    (serverUrl) => {
      expect(() => create([], { serverUrl })).toThrow(/serverUrl: must be an http or https URL/)
    },
  )
})

import { createManualClock, createMockService, type MockService, type Snapshot } from 'geohook/mock'
import { describe, expect, it } from 'vitest'
import { FEATURE, seed, start } from '../support.ts'
import { get, type Json, LAYER, post, SERVICE, startFeatures, TREES } from './support.ts'

const oak = { attributes: { kind: 'oak', count: 1 }, geometry: { x: 1, y: 2 } }

const featuresOf = async (service: MockService): Promise<Json> =>
  (await get(service, `${LAYER}/query`, {})).features

const generationsOf = async (service: MockService): Promise<Json> =>
  (await get(service, SERVICE, { returnUpdates: true })).changeTrackingInfo.layerServerGens[0]

/** Adds two features and an attachment, and deletes a feature. */
async function edit(service: MockService): Promise<void> {
  const { addResults } = await post(service, `${LAYER}/addFeatures`, { features: [oak, oak] })
  const data = Buffer.from('text').toString('base64')
  const file = { parentGlobalId: addResults[0].globalId, name: 'a.txt', contentType: 'text/plain', data }
  await post(service, `${LAYER}/applyEdits`, { attachments: { adds: [file] }, deletes: [2] })
}

/** As a state file does. */
const throughJson = (snapshot: Snapshot): Snapshot => JSON.parse(JSON.stringify(snapshot)) as Snapshot

describe('a snapshot', () => {
  it('has no feature data if no service was seeded with layers or edited', async () => {
    const service = await start([seed(FEATURE)])
    await get(service, `${LAYER}/query`)
    expect(service.snapshot()).not.toHaveProperty('featureData')
  })

  it('restores features, attachments, generations and ids in another mock', async () => {
    const service = await startFeatures([TREES])
    await edit(service)
    const snapshot = throughJson(service.snapshot())
    const other = await startFeatures(undefined, { services: [] })
    other.restore(snapshot)
    expect(other.snapshot()).toEqual(service.snapshot())
    expect(await featuresOf(other)).toEqual(await featuresOf(service))
    expect(await generationsOf(other)).toEqual(await generationsOf(service))
    const response = await fetch(`${other.url}/rest/services/${LAYER}/1/attachments/1`)
    expect(await response.text()).toBe('text')
    const { addResults } = await post(other, `${LAYER}/addFeatures`, { features: [oak] })
    expect(addResults[0].objectId).toBe(3)
  })

  it('is a copy', async () => {
    const service = await startFeatures([{ ...TREES, features: [oak] }])
    const { featureData } = service.snapshot()
    const [{ features }] = featureData![0]!.layers as [Json]
    features[0].attributes.kind = 'changed'
    features[0].geometry.x = 99
    expect(await featuresOf(service)).toMatchObject([oak])
  })

  it('is saved after an edit, before the response', async () => {
    const saved: Snapshot[] = []
    const service = await startFeatures([TREES], {
      save: async (snapshot) => void saved.push(snapshot),
    })
    await post(service, `${LAYER}/addFeatures`, { features: [oak] })
    expect(saved.at(-1)?.featureData?.[0]?.layers[0]?.features).toMatchObject([{ objectId: 1 }])
    const count = saved.length
    await post(service, `${LAYER}/addFeatures`, { features: [{ attributes: { nothing: 1 } }] })
    expect(saved).toHaveLength(count)
  })

  it('reports that an edit could not be saved', async () => {
    const service = await startFeatures([TREES], { save: async () => Promise.reject(new Error('full')) })
    const { error } = await post(service, `${LAYER}/addFeatures`, { features: [oak] })
    expect(error).toMatchObject({
      code: 500,
      message: 'the change is made, but the state could not be saved',
    })
  })

  it.each([
    ['a negative object id', (data: Json) => (data.layers[0].features[0].objectId = -1)],
    ['a global id that is not a UUID', (data: Json) => (data.layers[0].features[0].globalId = 'x')],
    ['a value that is an object', (data: Json) => (data.layers[0].features[0].attributes.kind = {})],
    ['an unknown member', (data: Json) => (data.extra = 1)],
  ])('with %s is refused, and changes nothing', async (_, damage) => {
    const service = await startFeatures([{ ...TREES, features: [oak] }])
    const snapshot = service.snapshot()
    damage(snapshot.featureData![0])
    const before = service.snapshot()
    expect(() => service.restore(snapshot)).toThrow(expect.objectContaining({ code: 'config_invalid' }))
    expect(service.snapshot()).toEqual(before)
  })

  it('changes nothing if layers of a service are invalid', async () => {
    const service = await startFeatures([{ ...TREES, features: [oak] }])
    const before = service.snapshot()
    const services = [{ serviceName: 'Parcels', serviceType: 'FeatureServer' as const, layers: [] }]
    expect(() => service.restore({ services })).toThrow(/1 to 100 layers/)
    expect(service.snapshot()).toEqual(before)
  })
})

describe('the history', () => {
  it('continues after the restore of the current snapshot', async () => {
    const service = await startFeatures([TREES])
    await edit(service)
    const before = await generationsOf(service)
    service.restore(service.snapshot())
    expect(await generationsOf(service)).toEqual(before)
  })

  it('continues in another mock that was seeded with layers, as after a restart', async () => {
    const clock = createManualClock(1_800_000_000_000)
    const service = await startFeatures([TREES], { clock })
    await edit(service)
    await clock.advance(60_000)
    const restarted = await startFeatures([TREES], { clock })
    restarted.restore(throughJson(service.snapshot()))
    expect(await generationsOf(restarted)).toEqual(await generationsOf(service))
    expect(restarted.snapshot().featureData).toEqual(service.snapshot().featureData)
  })

  it('starts again after the restore of an older snapshot, so that clients do not miss the difference', async () => {
    const service = await startFeatures([TREES])
    const older = service.snapshot()
    await edit(service)
    const { serverGen } = await generationsOf(service)
    service.restore(older)
    expect(await featuresOf(service)).toEqual([])
    expect(await generationsOf(service)).toMatchObject({
      serverGen: serverGen + 1,
      minServerGen: serverGen + 1,
    })
  })

  it('starts again after a reset, which restores the seed', async () => {
    const service = await startFeatures([{ ...TREES, features: [oak] }])
    const seeded = await featuresOf(service)
    await edit(service)
    const { serverGen } = await generationsOf(service)
    service.reset()
    expect(await featuresOf(service)).toEqual(seeded)
    expect((await generationsOf(service)).minServerGen).toBeGreaterThan(serverGen)
  })
})

describe('features()', () => {
  it('edits and reads features, and delivers events', async () => {
    const service = createMockService({
      services: [{ serviceName: 'Parcels', serviceType: 'FeatureServer', layers: [TREES] }],
    })
    const parcels = service.features('Parcels')
    const { layers, attempts } = parcels.applyEdits({ adds: [oak, oak] }, { username: 'kim' })
    expect(layers[0]?.addResults).toMatchObject([{ objectId: 1, success: true }, { objectId: 2 }])
    expect(await attempts).toEqual([])
    expect(parcels.query({ where: 'OBJECTID = 2', outFields: 'kind,Creator' })).toEqual([
      { attributes: { kind: 'oak', Creator: 'kim' }, geometry: { x: 1, y: 2 } },
    ])
    const [found] = parcels.query()
    found!.attributes.kind = 'changed'
    expect(parcels.query({ objectIds: [1] })).toMatchObject([oak])
  })

  it('returns the attempts of the deliveries', async () => {
    const service = await start([seed(FEATURE, { changeTypes: ['FeaturesCreated'] })])
    const { attempts } = service.features({ serviceName: 'Parcels' }).applyEdits([{ adds: [{}] }])
    expect(await attempts).toMatchObject([{ webhookId: FEATURE.id, number: 1 }])
  })

  it('reports failed rows in its results, and throws for everything else', async () => {
    const service = await startFeatures([TREES])
    const parcels = service.features('Parcels')
    expect(parcels.applyEdits({ deletes: [9] }).layers[0]?.deleteResults).toMatchObject([
      { success: false, error: { code: 1011 } },
    ])
    const invalid = (message: RegExp) =>
      expect.objectContaining({ code: 'config_invalid', message: expect.stringMatching(message) })
    expect(() => service.features('Nothing')).toThrow(invalid(/no service Nothing/))
    expect(() => service.features(undefined as never)).toThrow(invalid(/name of a service is missing/))
    expect(() => parcels.applyEdits({ layerId: 5 })).toThrow(invalid(/no layer 5/))
    expect(() => parcels.applyEdits({ add: [] } as never)).toThrow(invalid(/edits\.0/))
    expect(() => parcels.applyEdits([], { user: 'x' } as never)).toThrow(invalid(/options/))
    expect(() => parcels.applyEdits({ deletes: Array(2001).fill(1) })).toThrow(invalid(/2000 rows/))
    expect(() => parcels.query({ layerId: 5 })).toThrow(invalid(/no layer 5/))
    expect(() => parcels.query({ where: 'x' })).toThrow(invalid(/where is not valid/))
  })
})

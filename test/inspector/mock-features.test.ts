import type { LayerSeed, MockService, MockServiceOptions } from 'geohook/mock'
import { describe, expect, it, vi } from 'vitest'
import { capture, NOWHERE } from '../mock/support.ts'
import { mock, open, submit } from './helpers/mock-support.ts'

const ENTRY = 'Parcels.FeatureServer/0'
const HOSTILE = '<script>alert(1)</script>'

const TREES: LayerSeed = {
  name: 'trees',
  fields: [
    { name: 'kind', type: 'esriFieldTypeString', alias: 'Kind of tree' },
    { name: 'height', type: 'esriFieldTypeDouble' },
    { name: 'planted', type: 'esriFieldTypeDate' },
    { name: 'notes', type: 'esriFieldTypeString', length: 4000 },
  ],
  features: [
    { attributes: { kind: 'oak', planted: 0, notes: 'one\ntwo' }, geometry: { x: 7, y: 51 } },
    { attributes: { kind: HOSTILE } },
  ],
}

const withTrees = (hookUrl = NOWHERE, options: MockServiceOptions = {}): Promise<MockService> =>
  mock(
    hookUrl,
    {},
    { services: [{ serviceName: 'Parcels', serviceType: 'FeatureServer', layers: [TREES] }], ...options },
  )

const attributesOf = (service: MockService): unknown[] =>
  service
    .features('Parcels')
    .query({ outFields: 'OBJECTID,kind,height,planted,notes' })
    .map(({ attributes }) => attributes)

/** JSON as the form shows it. */
const toText = (feature: object | undefined): string => JSON.stringify(feature, null, 2)

describe('the panel of features', () => {
  it('shows layers, features and the history', async () => {
    const service = await withTrees()
    service
      .features('Parcels')
      .applyEdits(
        { updates: [{ attributes: { OBJECTID: 1, height: 12 }, geometry: { x: 8, y: 52 } }], deletes: [2] },
        { username: 'Ann <b>' },
      )
    const { text } = await open(service, '/features')
    expect(text).toContain(`<th scope="row">${ENTRY}</th><td>trees</td><td>1 point</td>`)
    expect(text).toContain(`<th scope="row">${ENTRY}/1</th><td>kind: oak, height: 12, `)
    expect(text).toContain('at 8 52</td><td>0</td>')
    expect(text).toContain(`<td>update: height, geometry</td><td>${ENTRY}/1</td><td>Ann &lt;b&gt;</td>`)
    expect(text).toContain(`<td>delete</td><td>${ENTRY}/2</td>`)
    expect((await open(service)).text).toContain('Features <span>1 feature</span>')
  })

  it('escapes values, and shows at most 50 features and 100 changes', async () => {
    const service = await withTrees()
    const { text } = await open(service, '/features')
    expect(text).toContain('kind: &lt;script&gt;')
    expect(text).not.toContain(HOSTILE)
    const adds = Array.from({ length: 300 }, (_, index) => ({ attributes: { kind: `k${index}` } }))
    service.features('Parcels').applyEdits({ adds })
    const long = (await open(service, '/features')).text
    expect(long.match(/<td>kind: k/g)).toHaveLength(50)
    expect(long).toContain('252 more are not shown.')
    expect(long.match(/<td>insert<\/td>/g)).toHaveLength(100)
  })

  it('says how to add features to an empty service', async () => {
    const service = await mock(NOWHERE)
    expect((await open(service, '/features')).text).toContain('No feature service has features yet.')
    service.features('Parcels').applyEdits({ adds: [{ attributes: { name: 'x' } }] })
    expect((await open(service, '/features')).text).not.toContain('No feature service has features yet.')
    service.restore({})
    expect((await open(service, '/features')).text).toContain('There are no feature services.')
  })

  it('adds a feature with the fields of its layer, saves it, and delivers the event', async () => {
    const { url, requests } = await capture()
    const saved: number[] = []
    const service = await withTrees(url, {
      save: async ({ featureData }) => void saved.push(featureData?.[0]?.layers[0]?.features.length ?? 0),
    })
    const { text } = await open(service, `/features/add?entry=${ENTRY}`)
    const template = { attributes: { kind: null, height: null, planted: null, notes: null } }
    expect(text).toContain(toText({ ...template, geometry: { x: 7.1, y: 51.4 } }))
    const attributes = { kind: 'elm', height: 3.5, planted: Date.UTC(2026, 0, 2, 3, 4, 5), notes: null }
    const feature = JSON.stringify({ attributes, geometry: null })
    const done = await submit(service, '/features/add', { entry: ENTRY, feature })
    expect([done.path, done.text]).toEqual(['/features', expect.stringContaining('The feature 3 is added.')])
    expect(attributesOf(service).at(-1)).toEqual({ OBJECTID: 3, ...attributes })
    expect(saved.at(-1)).toBe(3)
    await vi.waitUntil(() => requests.length === 1, { timeout: 60_000, interval: 5 })
    expect(String(requests[0]?.body)).toContain('FeaturesCreated')
  })

  it.each([
    ['{', 'the feature is not a JSON object'],
    ['[]', 'the feature is not a JSON object'],
    ['{"attributes":{"height":"high"}}', 'Setting of value for height failed.'],
    ['{"attributes":{"size":1}}', 'The layer has no field'],
    ['{"geometry":{"rings":[]}}', 'Geometry could not be set.'],
    [JSON.stringify({ attributes: { kind: 'x'.repeat(300) } }), 'a text of at most 256 characters'],
  ])('shows the form again for %.40s', async (feature, message) => {
    const service = await withTrees()
    const before = attributesOf(service)
    const { status, text } = await submit(service, '/features/edit', { entry: `${ENTRY}/1`, feature })
    expect([status, text]).toEqual([400, expect.stringContaining(message)])
    expect(attributesOf(service)).toEqual(before)
  })

  it('changes only what the form changes', async () => {
    const service = await withTrees()
    const entry = `${ENTRY}/1`
    const [feature] = service.features('Parcels').query({ objectIds: [1] })
    expect((await open(service, `/features/edit?entry=${entry}`)).text).toContain(toText(feature))
    const edit = async (attributes: object) => {
      const edited = { ...feature, attributes: { ...feature?.attributes, ...attributes } }
      return submit(service, '/features/edit', { entry, feature: JSON.stringify(edited) })
    }
    expect((await edit({ height: 9, OBJECTID: 2 })).text).toContain('The feature 1 is edited.')
    expect((await open(service, '/features')).text).toContain('<td>update: height</td>')
    await edit({ height: null, kind: null })
    expect(attributesOf(service)[0]).toEqual({
      OBJECTID: 1,
      kind: null,
      height: null,
      planted: 0,
      notes: 'one\ntwo',
    })
  })

  it('asks before it deletes', async () => {
    const service = await withTrees()
    const entry = `${ENTRY}/2`
    const { text } = await open(service, `/features/delete?entry=${entry}`)
    expect(text).toContain('Delete the feature 2? It cannot be restored.')
    expect(attributesOf(service)).toHaveLength(2)
    expect((await submit(service, '/features/delete', { entry })).text).toContain('The feature 2 is deleted.')
    expect(attributesOf(service)).toHaveLength(1)
    expect((await submit(service, '/features/delete', { entry })).status).toBe(404)
  })

  it('says so if an edit could not be saved', async () => {
    const service = await withTrees(NOWHERE, { save: () => Promise.reject(new Error('disk full')) })
    const { text } = await submit(service, '/features/delete', { entry: `${ENTRY}/2` })
    expect(text).toContain('the change is made, but the state could not be saved')
  })

  it.each([
    '',
    'None.FeatureServer/0',
    'Parcels.FeatureServer/7',
    'Parcels.FeatureServer/x',
    'Buffer.GPServer/0',
  ])('responds with 404 to the layer %j', async (entry) => {
    const service = await withTrees()
    expect((await open(service, `/features/add?entry=${entry}`)).status).toBe(404)
    expect((await submit(service, '/features/add', { entry })).status).toBe(404)
  })
})

import type { LayerSeed } from 'geohook/mock'
import { describe, expect, it } from 'vitest'
import { get, type Json, LAYER, post, SERVICE, startFeatures, TREES } from './support.ts'

const REF = '0B0D9F1E-53A5-4A2E-9D4E-7C0F6A1F2B3C'
const DAY = Date.UTC(2026, 0, 31)
const LAYERS: LayerSeed[] = [
  {
    ...TREES,
    features: [
      { attributes: { kind: 'oak', height: 10, count: 1, planted: DAY, ref: REF }, geometry: { x: 1, y: 2 } },
      { attributes: { kind: "o'ak_%", height: 2.5, count: -2 } },
      { attributes: { kind: 'ash', height: null, count: 3, planted: DAY + 3_600_000 } },
      { attributes: { kind: null, height: 0, count: 0 } },
    ],
  },
]

describe('where', () => {
  it.each([
    ['1=1', [1, 2, 3, 4]],
    ['1 = 0', []],
    ["kind = 'oak'", [1]],
    ["KIND='oak'", [1]],
    ['"kind" = \'oak\'', [1]],
    ["kind = 'o''ak_%'", [2]],
    ["kind <> 'oak'", [2, 3]],
    ["kind != 'oak'", [2, 3]],
    ["NOT kind = 'oak'", [2, 3]],
    ["NOT (kind = 'oak' OR height = 2.5)", []],
    ['height > 2.5', [1]],
    ['height >= 2.5', [1, 2]],
    ['height < 2.5', [4]],
    ['height <= 2.5 AND count = -2', [2]],
    ['2.5 < height', [1]],
    ['height IS NULL', [3]],
    ['height is not null', [1, 2, 4]],
    ['OBJECTID IN (1, 3, 99)', [1, 3]],
    ['OBJECTID NOT IN (1, 3)', [2, 4]],
    ["kind IN ('ash', 'oak')", [1, 3]],
    ["kind LIKE '%a%'", [1, 2, 3]],
    ["kind like 'o_k'", [1]],
    ["kind NOT LIKE 'o%'", [3]],
    ["kind LIKE '%'", [1, 2, 3]],
    ["kind LIKE ''", []],
    ["kind = 'oak' OR kind = 'ash' AND count = 99", [1]],
    ["(kind = 'oak' OR kind = 'ash') AND count = 3", [3]],
    [`ref = '${REF.toLowerCase()}'`, [1]],
    [`ref = '{${REF}}'`, [1]],
    ["planted = DATE '2026-01-31'", [1]],
    ["planted > timestamp '2026-01-31 00:30:00'", [3]],
    [`planted = ${DAY}`, [1]],
  ])('%s', async (where, ids) => {
    const service = await startFeatures(LAYERS)
    expect((await post(service, `${LAYER}/query`, { where, returnIdsOnly: true })).objectIds).toEqual(ids)
  })

  it.each([
    ["UPPER(kind) = 'OAK'", /no field "UPPER"/],
    ['height BETWEEN 1 AND 2', /no comparison before "BETWEEN"/],
    ['kind', /no comparison at the end/],
    ['kind =', /a value is missing at the end/],
    ["kind = 'oak", /a ' is missing/],
    ['"kind = 1', /a " is missing/],
    ['kind = 5', /a number is compared with a text/],
    ['height LIKE 5', /text in quotes/],
    ["height LIKE '5'", /LIKE is for texts/],
    ['(1=1', /\) is missing at the end/],
    ['1=1)', /does not end before "\)"/],
    ["kind IN ('a'", /\) is missing/],
    ['kind IS 5', /NULL is missing before "5"/],
    ['1=1; DROP TABLE trees', /";" is not supported/],
    ["planted > DATE 'soon'", /a date must be like/],
    ["kind = 'x' || 'y'", /"\|" is not supported/],
    [`${'('.repeat(60)}1=1${')'.repeat(60)}`, /nested more than 50/],
    [`${'NOT '.repeat(60)}1=1`, /nested more than 50/],
    ['x'.repeat(4001), /longer than 4000/],
    [Array(500).fill('1=1').join(' OR '), /more than 1000 parts/],
    [`kind LIKE '${'%'.repeat(257)}'`, /pattern is longer than 256/],
  ])('refuses %.40s, and says what is supported', async (where, message) => {
    const service = await startFeatures(LAYERS)
    const { error } = await post(service, `${LAYER}/query`, { where })
    expect(error).toEqual({ code: 400, message: expect.stringMatching(message), details: [] })
    expect(error.message).toMatch(/^where is not valid: .*; the mock supports fields, .*IN, LIKE/)
  })
})

describe('query', () => {
  it('describes the fields and the geometry of its result', async () => {
    const service = await startFeatures(LAYERS)
    const answer = await get(service, `${LAYER}/query`, { objectIds: '1,4', outFields: 'KIND,OBJECTID' })
    expect(answer).toMatchObject({
      objectIdFieldName: 'OBJECTID',
      globalIdFieldName: 'GlobalID',
      geometryType: 'esriGeometryPoint',
      spatialReference: { wkid: 4326 },
      features: [
        { attributes: { kind: 'oak', OBJECTID: 1 }, geometry: { x: 1, y: 2 } },
        { attributes: { kind: null, OBJECTID: 4 } },
      ],
    })
    expect(answer.fields.map(({ name }: Json) => name)).toEqual(['OBJECTID', 'kind'])
    expect(answer.exceededTransferLimit).toBeUndefined()
    const without = await get(service, `${LAYER}/query`, { objectIds: 1, returnGeometry: false })
    expect(without.features[0].geometry).toBeUndefined()
  })

  it('orders and pages', async () => {
    const service = await startFeatures(LAYERS)
    const page = (parameters: object) =>
      get(service, `${LAYER}/query`, { orderByFields: 'height DESC, OBJECTID', ...parameters })
    const idsOf = ({ features }: Json) => features.map(({ attributes }: Json) => attributes.OBJECTID)
    expect(idsOf(await page({}))).toEqual([1, 2, 4, 3])
    const first = await page({ resultRecordCount: 3 })
    expect([idsOf(first), first.exceededTransferLimit]).toEqual([[1, 2, 4], true])
    const second = await page({ resultRecordCount: 3, resultOffset: 3 })
    expect([idsOf(second), second.exceededTransferLimit]).toEqual([[3], undefined])
  })

  it('orders by the first mention of a field, however often it is repeated', async () => {
    // The counts 0 to 1999 in another order: the sort needs more comparisons than for sorted rows.
    const counts = Array.from({ length: 2_000 }, (_, index) => (index * 7) % 2_000)
    const features = counts.map((count) => ({ attributes: { kind: 'oak', count } }))
    const service = await startFeatures([{ ...TREES, features }])
    const orderByFields = `height DESC,${'HEIGHT,'.repeat(100_000)}count DESC`
    const { objectIds } = await post(service, `${LAYER}/query`, { orderByFields, returnIdsOnly: true })
    expect(objectIds.slice(0, 2)).toEqual([1_999, 1_998].map((count) => counts.indexOf(count) + 1))
  })

  it('finds features by their global ids', async () => {
    const service = await startFeatures(LAYERS)
    const { feature } = await get(service, `${LAYER}/2`)
    const globalIds = feature.attributes.GlobalID.slice(1, -1).toLowerCase()
    const answer = await get(service, `${LAYER}/query`, { globalIds, returnCountOnly: true })
    expect(answer).toEqual({ count: 1 })
  })

  it.each([
    [{ geometry: '1,2,3,4' }, /does not support geometry in queries/],
    [{ outStatistics: [] }, /does not support outStatistics/],
    [{ returnDistinctValues: true }, /does not support returnDistinctValues/],
    [{ outSR: 3857 }, /outSR must be 4326/],
    [{ outFields: 'kind,nothing' }, /"nothing", which is not a field/],
    [{ orderByFields: 'kind UP' }, /ASC or DESC/],
    [{ resultOffset: -1 }, /resultOffset must be a whole number/],
    [{ f: 'geojson' }, /f must be json, pjson or html/],
  ])('refuses %j', async (parameters, message) => {
    const service = await startFeatures(LAYERS)
    const { error } = await get(service, `${LAYER}/query`, parameters)
    expect(error).toMatchObject({ code: 400, message: expect.stringMatching(message) })
  })
})

describe('descriptions', () => {
  it('a service lists its layers, its capabilities and its generations', async () => {
    const service = await startFeatures([...LAYERS, { name: 'Owners' }])
    const root = await get(service, SERVICE)
    expect(root).toMatchObject({
      capabilities: expect.stringContaining('ChangeTracking'),
      extractChangesCapabilities: { supportsServerGens: true },
      layers: [{ id: 0, name: 'Trees', geometryType: 'esriGeometryPoint' }],
      tables: [{ id: 1, name: 'Owners' }],
    })
    expect(root.changeTrackingInfo).toBeUndefined()
    const { changeTrackingInfo: before } = await get(service, SERVICE, { returnUpdates: true })
    await post(service, `${LAYER}/deleteFeatures`, { objectIds: 1 })
    const { changeTrackingInfo: after } = await get(service, SERVICE, { returnUpdates: 'True' })
    const [generation] = before.layerServerGens
    expect(before.layerServerGens.map(({ id }: Json) => id)).toEqual([0, 1])
    expect(generation.minServerGen).toBe(generation.serverGen)
    expect(after.layerServerGens[0]).toEqual({ ...generation, serverGen: generation.serverGen + 1 })
    expect(after.lastSyncDate).toBeGreaterThanOrEqual(before.lastSyncDate)
  })

  it('a layer names its fields', async () => {
    const service = await startFeatures(LAYERS)
    const layer = await get(service, LAYER)
    expect(layer).toMatchObject({
      id: 0,
      type: 'Feature Layer',
      objectIdField: 'OBJECTID',
      globalIdField: 'GlobalID',
      hasAttachments: true,
      editFieldsInfo: {
        creationDateField: 'CreationDate',
        creatorField: 'Creator',
        editDateField: 'EditDate',
        editorField: 'Editor',
      },
    })
    const all = await get(service, `${SERVICE}/layers`)
    expect([all.layers, all.tables]).toEqual([[layer], []])
    expect((await get(service, `${SERVICE}/7`)).error).toMatchObject({ code: 404 })
    expect((await get(service, `${LAYER}/99`)).error).toMatchObject({ code: 404 })
  })
})

import { createManualClock, createTokens } from 'geohook/mock'
import { describe, expect, it } from 'vitest'
import { get, LAYER, post, SERVICE, startFeatures, TREES } from './support.ts'

const NOW = 1800000000000
const UUID = /^\{[0-9A-F]{8}(-[0-9A-F]{4}){3}-[0-9A-F]{12}\}$/
const succeeded = { objectId: expect.any(Number), globalId: expect.stringMatching(UUID), success: true }
const failed = (code: number, description: RegExp) =>
  expect.objectContaining({
    success: false,
    error: { code, description: expect.stringMatching(description) },
  })
const oak = { attributes: { kind: 'oak', height: 3.5, count: 1 }, geometry: { x: 1, y: 2 } }

describe('addFeatures', () => {
  it('adds rows with ids, and with editor fields that only the service sets', async () => {
    const service = await startFeatures([TREES], { clock: createManualClock(NOW) })
    const { addResults } = await post(service, `${LAYER}/addFeatures`, {
      features: [
        oak,
        { attributes: { KIND: 'ash', count: 2, OBJECTID: 77, Creator: 'eve', GlobalID: 'x', EditDate: 5 } },
      ],
    })
    expect(addResults).toEqual([succeeded, succeeded])
    const { features } = await get(service, `${LAYER}/query`, { where: '1=1' })
    const system = { CreationDate: NOW, Creator: 'admin', EditDate: NOW, Editor: 'admin' }
    const empty = { kind: null, height: null, planted: null, ref: null }
    expect(features).toEqual([
      {
        attributes: { OBJECTID: 1, GlobalID: addResults[0].globalId, ...empty, ...oak.attributes, ...system },
        geometry: { x: 1, y: 2 },
      },
      {
        attributes: {
          OBJECTID: 2,
          GlobalID: addResults[1].globalId,
          ...empty,
          kind: 'ash',
          count: 2,
          ...system,
        },
      },
    ])
  })

  it.each([
    ['an unknown field', { attributes: { nme: 1, count: 1 } }, 1000, /no field "nme"/],
    ['a row that is not an object', 5, 1000, /must be an object/],
    ['attributes that are not an object', { attributes: [] }, 1000, /attributes must be an object/],
    ['a missing value that is required', { attributes: {} }, 1001, /count is not nullable/],
    ['null for a required value', { attributes: { count: null } }, 1001, /count is not nullable/],
    ['a text that is too long', { attributes: { count: 1, kind: 'x'.repeat(11) } }, 1016, /at most 10/],
    ['a number as text', { attributes: { count: '1' } }, 1016, /count failed/],
    ['a fraction for an integer', { attributes: { count: 1.5 } }, 1016, /a whole number/],
    ['an integer that is too large', { attributes: { count: 2 ** 31 } }, 1016, /a whole number/],
    ['a text for a number', { attributes: { count: 1, height: 'tall' } }, 1016, /a number/],
    ['a text for a date', { attributes: { count: 1, planted: '2026-01-01' } }, 1016, /milliseconds/],
    ['a text for a UUID', { attributes: { count: 1, ref: 'x' } }, 1016, /a UUID/],
    ['a line for a point', { ...oak, geometry: { paths: [[[1, 2]]] } }, 1015, /numbers x and y/],
    [
      'another reference',
      { ...oak, geometry: { x: 1, y: 2, spatialReference: { wkid: 3857 } } },
      1015,
      /4326/,
    ],
    ['__proto__', JSON.parse('{"attributes":{"__proto__":{"count":1}}}'), 1000, /no field "__proto__"/],
  ])('refuses %s', async (_, row, code, description) => {
    const service = await startFeatures([TREES])
    const features = [oak, row]
    const all = await post(service, `${LAYER}/addFeatures`, { features })
    expect(all).toEqual({
      addResults: [failed(1003, /^Operation rolled back\.$/), failed(code, description)],
    })
    expect(await get(service, `${LAYER}/query`, { returnCountOnly: true })).toEqual({ count: 0 })
    const some = await post(service, `${LAYER}/addFeatures`, { features, rollbackOnFailure: false })
    expect(some).toEqual({ addResults: [succeeded, failed(code, description)] })
    expect(await get(service, `${LAYER}/query`, { returnCountOnly: true })).toEqual({ count: 1 })
  })
})

describe('updateFeatures', () => {
  it('keeps the attributes and the geometry that a row leaves out', async () => {
    const clock = createManualClock(NOW)
    const users = ['ann', 'bob'].map((username) => ({
      username,
      password: 'pw',
      privileges: ['features'] as const,
    }))
    const service = await startFeatures([TREES], { clock, auth: createTokens({ users }) })
    const tokenOf = async (username: string): Promise<string> => {
      const body = new URLSearchParams({ username, password: 'pw', f: 'json' })
      const response = await fetch(`${service.url}/generateToken`, { method: 'POST', body })
      return ((await response.json()) as { token: string }).token
    }
    const token = await tokenOf('ann')
    await post(service, `${LAYER}/addFeatures`, { token, features: [oak] })
    await clock.advance(1000)
    const updates = [{ attributes: { objectid: 1, height: 4 } }, { attributes: { OBJECTID: 9, height: 4 } }]
    const answer = await post(service, `${LAYER}/updateFeatures`, {
      token: await tokenOf('bob'),
      features: updates,
      rollbackOnFailure: false,
    })
    expect(answer.updateResults).toEqual([
      { ...succeeded, objectId: 1 },
      {
        objectId: 9,
        globalId: null,
        success: false,
        error: { code: 1011, description: expect.stringContaining('9') },
      },
    ])
    const { feature } = await get(service, `${LAYER}/1`, { token })
    expect(feature).toMatchObject({
      attributes: {
        kind: 'oak',
        height: 4,
        Creator: 'ann',
        CreationDate: NOW,
        Editor: 'bob',
        EditDate: NOW + 1000,
      },
      geometry: oak.geometry,
    })
    await post(service, `${LAYER}/updateFeatures`, {
      token,
      features: [{ attributes: { OBJECTID: 1 }, geometry: null }],
    })
    expect((await get(service, `${LAYER}/1`, { token })).feature.geometry).toBeUndefined()
  })
})

describe('deleteFeatures', () => {
  it.each([
    ['ids', { objectIds: '1,3' }, [1, 3]],
    ['ids as JSON', { objectIds: [2] }, [2]],
    ['a condition', { where: "kind = 'oak'" }, [1, 2]],
    ['both', { where: "kind = 'oak'", objectIds: '2,3' }, [2]],
  ])('deletes by %s', async (_, parameters, deleted) => {
    const ash = { attributes: { kind: 'ash', count: 1 } }
    const service = await startFeatures([{ ...TREES, features: [oak, oak, ash] }])
    const { deleteResults } = await post(service, `${LAYER}/deleteFeatures`, parameters)
    expect(deleteResults).toEqual(deleted.map((objectId) => ({ ...succeeded, objectId })))
    const { objectIds } = await get(service, `${LAYER}/query`, { returnIdsOnly: true })
    expect(objectIds).toEqual([1, 2, 3].filter((id) => !deleted.includes(id)))
  })

  it('requires ids or a condition', async () => {
    const service = await startFeatures()
    expect((await post(service, `${LAYER}/deleteFeatures`)).error).toMatchObject({ code: 400 })
  })
})

describe('applyEdits', () => {
  it('edits several layers of a service in one request', async () => {
    const service = await startFeatures([
      { ...TREES, features: [oak, oak] },
      { name: 'Owners', fields: [{ name: 'name', type: 'esriFieldTypeString' }] },
    ])
    const results = await post(service, `${SERVICE}/applyEdits`, {
      edits: [
        { id: 1, adds: [{ attributes: { name: 'Kim' } }] },
        { id: 0, adds: [oak], updates: [{ attributes: { OBJECTID: 1, kind: 'elm' } }], deletes: [2] },
      ],
    })
    expect(results).toEqual([
      { id: 1, addResults: [succeeded], updateResults: [], deleteResults: [] },
      { id: 0, addResults: [succeeded], updateResults: [succeeded], deleteResults: [succeeded] },
    ])
  })

  it('changes nothing in any layer if one row fails', async () => {
    const service = await startFeatures([
      { ...TREES, features: [oak, oak] },
      { ...TREES, name: 'More' },
    ])
    const results = await post(service, `${SERVICE}/applyEdits`, {
      edits: [
        { id: 0, adds: [oak], updates: [{ attributes: { OBJECTID: 1, kind: 'elm' } }], deletes: [2] },
        { id: 1, deletes: [5] },
      ],
    })
    const rolledBack = failed(1003, /rolled back/)
    expect(results).toMatchObject([
      {
        addResults: [{ objectId: null }],
        updateResults: [{ objectId: 1 }],
        deleteResults: [{ objectId: 2 }],
      },
      { deleteResults: [failed(1011, /missing/)] },
    ])
    expect([results[0].addResults, results[0].deleteResults]).toEqual([[rolledBack], [rolledBack]])
    const { features } = await get(service, `${LAYER}/query`)
    expect(features.map(({ attributes }: { attributes: object }) => attributes)).toMatchObject([
      { OBJECTID: 1, kind: 'oak' },
      { OBJECTID: 2, kind: 'oak' },
    ])
  })

  it('names features by global ids with useGlobalIds', async () => {
    const service = await startFeatures([TREES])
    const id = '0b0d9f1e-53a5-4a2e-9d4e-7c0f6a1f2b3c'
    const add = { attributes: { ...oak.attributes, GlobalID: id } }
    const apply = (edits: object) =>
      post(service, `${LAYER}/applyEdits`, { useGlobalIds: true, rollbackOnFailure: false, ...edits })
    const { addResults } = await apply({ adds: [add, add, oak, { attributes: { count: 1, GlobalID: '' } }] })
    expect(addResults).toEqual([
      { objectId: 1, globalId: `{${id.toUpperCase()}}`, success: true },
      failed(1022, /exists/),
      failed(1020, /^Missing GlobalID\.$/),
      failed(1021, /^Empty GlobalID\.$/),
    ])
    const update = { attributes: { globalid: `{${id}}`, kind: 'elm' } }
    expect((await apply({ updates: [update], deletes: [1] })).updateResults).toEqual([succeeded])
    expect((await apply({ deletes: [id] })).deleteResults).toEqual([succeeded])
    expect(await get(service, `${LAYER}/query`, { returnCountOnly: true })).toEqual({ count: 0 })
  })

  it('returns the time of the edit on request', async () => {
    const service = await startFeatures([TREES], { clock: createManualClock(NOW) })
    const parameters = { returnEditMoment: true, adds: [oak] }
    expect(await post(service, `${LAYER}/applyEdits`, parameters)).toMatchObject({ editMoment: NOW })
  })

  it.each([
    ['JSON that is not valid', { adds: '[' }, /adds is not valid JSON/],
    ['an object in place of a list', { updates: '{}' }, /updates must be a JSON array/],
    ['too many rows', { deletes: Array(2001).fill(1).join() }, /at most 2000 rows/],
    ['a flag other than true and false', { adds: [oak], rollbackOnFailure: 'yes' }, /must be true or false/],
  ])('refuses %s', async (_, parameters, message) => {
    const service = await startFeatures([TREES])
    const { error } = await post(service, `${LAYER}/applyEdits`, parameters)
    expect(error).toEqual({ code: 400, message: expect.stringMatching(message), details: [] })
  })
})

const deep = '['.repeat(50_000) + ']'.repeat(50_000)

describe('hostile JSON', () => {
  it.each([
    ['an object without text', '[{"toString":1,"valueOf":1}]'],
    ['deep arrays', `[${deep}]`],
  ])('as an id: %s', async (_, ids) => {
    const service = await startFeatures()
    const { deleteResults } = await post(service, `${LAYER}/applyEdits`, { deletes: ids })
    expect(deleteResults).toEqual([failed(1011, /is missing/)])
    expect((await post(service, `${LAYER}/query`, { objectIds: ids })).features).toEqual([])
    const deleted = await post(service, `${LAYER}/applyEdits`, { attachments: `{"deletes":${ids}}` })
    expect(deleted.attachments.deleteResults).toEqual([failed(1010, /is missing/)])
    const add = `{"parentGlobalId":"x","data":"","globalId":${ids}}`
    expect((await post(service, `${LAYER}/applyEdits`, { attachments: `{"adds":[${add}]}` })).error).toEqual({
      code: 400,
      message: 'attachments.adds.0.globalId: must be a text',
      details: [],
    })
  })

  it('drops unknown members of a geometry, so that the layer stays readable', async () => {
    const service = await startFeatures([{ name: 'Lots', geometryType: 'esriGeometryPolygon', fields: [] }])
    const rings = [
      [
        [0, 0, 5],
        [1, 1, 5],
        [0, 1, 5],
        [0, 0, 5],
      ],
    ]
    const geometry = `{"rings":${JSON.stringify(rings)},"hasZ":true,"hasM":{"a":1},"more":${deep}}`
    await post(service, `${LAYER}/applyEdits`, { adds: `[{"geometry":${geometry}}]` })
    const { features } = await get(service, `${LAYER}/query`)
    expect(features[0].geometry).toEqual({ rings, hasZ: true })
  })

  it('with too many entries of layers is refused', async () => {
    const service = await startFeatures()
    const { error } = await post(service, `${SERVICE}/applyEdits`, { edits: Array(2001).fill({ id: 0 }) })
    expect(error).toMatchObject({ code: 400, message: expect.stringContaining('at most 2000') })
  })
})

import { createRandomEdits, type FeatureService, type LayerSeed, type MockService } from 'geohook/mock'
import { describe, expect, it } from 'vitest'
import { create } from '../support.ts'

const LAYERS: LayerSeed[] = [
  {
    name: 'trees',
    fields: [
      { name: 'kind', type: 'esriFieldTypeString', length: 5, nullable: false },
      { name: 'height', type: 'esriFieldTypeDouble' },
      { name: 'count', type: 'esriFieldTypeSmallInteger' },
      { name: 'planted', type: 'esriFieldTypeDate' },
      { name: 'plan', type: 'esriFieldTypeGUID' },
    ],
    features: [{ attributes: { kind: 'oak', plan: null }, geometry: { x: 7, y: 51 } }],
  },
  { name: 'fences', geometryType: 'esriGeometryPolyline' },
  { name: 'parcels', geometryType: 'esriGeometryPolygon', spatialReference: { wkid: 102_100 } },
  { name: 'stops', geometryType: 'esriGeometryMultipoint', hasAttachments: false },
  { name: 'owners', fields: [{ name: 'name', type: 'esriFieldTypeString' }] },
]

const service = (): MockService =>
  create([], { services: [{ serviceName: 'Parcels', serviceType: 'FeatureServer', layers: LAYERS }] })

/** Attributes and geometries of all layers, without the values that differ between two services. */
const contentOf = (features: FeatureService): unknown =>
  LAYERS.map((_, layerId) =>
    features.query({ layerId }).map(({ attributes, geometry }) => {
      const { GlobalID: _, CreationDate: __, EditDate: ___, ...values } = attributes
      return { values, geometry }
    }),
  )

describe('randomEdits', () => {
  it('creates only numbers that JSON can represent', () => {
    const layers: LayerSeed[] = [{ name: 'trees', features: [{ attributes: {}, geometry: { x: 0, y: 0 } }] }]
    const services = [{ serviceName: 'Parcels', serviceType: 'FeatureServer', layers }] as const
    const features = create([], { services }).features('Parcels')
    // With this seed, one coordinate is between -0.0000005 and 0.
    const edits = features.randomEdits({ seed: 595, count: 100 })
    expect(JSON.parse(JSON.stringify(edits))).toEqual(edits)
  })

  it('creates edits that apply without an error, request after request', () => {
    const features = service().features('Parcels')
    const kinds = { adds: 0, updates: 0, deletes: 0, files: 0, deletedFiles: 0 }
    for (let seed = 0; seed < 60; seed += 1) {
      const edits = features.randomEdits({ seed, count: 30 })
      for (const { adds, updates, deletes, attachments } of edits) {
        kinds.adds += adds.length
        kinds.updates += updates.length
        kinds.deletes += deletes.length
        kinds.files += attachments.adds.length
        kinds.deletedFiles += attachments.deletes.length
      }
      const { layers } = features.applyEdits(edits)
      const results = layers.flatMap(({ attachments, ...layer }) =>
        [layer, attachments].flatMap(({ addResults, updateResults, deleteResults }) => [
          ...addResults,
          ...updateResults,
          ...deleteResults,
        ]),
      )
      expect(results).toHaveLength(30)
      expect(results.filter(({ success }) => !success)).toEqual([])
    }
    for (const [kind, number] of Object.entries(kinds)) expect([kind, number > 5]).toEqual([kind, true])
    expect(contentOf(features)).not.toContainEqual([])
  })

  it('creates the same edits from the same seed, and others from another seed', () => {
    const [one, other] = [service().features('Parcels'), service().features('Parcels')]
    for (const features of [one, other])
      for (const seed of [7, 8, 9]) features.applyEdits(features.randomEdits({ seed, count: 50 }))
    expect(contentOf(one)).toEqual(contentOf(other))
    expect(one.randomEdits({ seed: 10 })).toEqual(other.randomEdits({ seed: 10 }))
    expect(one.randomEdits({ seed: 10 })).not.toEqual(one.randomEdits({ seed: 11 }))
  })

  it('changes each existing feature at most once, and only the given layers', () => {
    const features = service().features('Parcels')
    features.applyEdits(features.randomEdits({ seed: 1, count: 300, layerIds: [0] }))
    const [edits, ...more] = features.randomEdits({ seed: 2, count: 300, layerIds: [0] })
    const ids = [
      ...(edits?.updates ?? []).map(({ attributes }) => attributes.OBJECTID),
      ...(edits?.deletes ?? []),
      ...(edits?.attachments.adds ?? []).map(({ parent }) => parent),
    ]
    expect([edits?.layerId, more]).toEqual([0, []])
    expect(new Set(ids).size).toBe(ids.length)
    expect(features.query({ layerId: 1 })).toEqual([])
  })

  it.each([
    [{ seed: -1 }, 'options.seed'],
    [{ seed: 1.5 }, 'options.seed'],
    [{ seed: 1, count: 0 }, 'options.count'],
    [{ seed: 1, count: 2001 }, 'options.count'],
    [{ seed: 1, layerIds: [9] }, 'Parcels has no layer 9'],
    [{ seed: 1, layerIds: [] }, 'there must be a layer to edit'],
  ])('rejects %j', (options, message) => {
    const { randomEdits } = service().features('Parcels')
    expect(() => randomEdits(options)).toThrow(expect.objectContaining({ code: 'config_invalid' }))
    expect(() => randomEdits(options)).toThrow(message)
  })
})

it('createRandomEdits edits the layers of any service, by their JSON', () => {
  const fields = [
    { name: 'FID', type: 'esriFieldTypeOID', nullable: false, editable: false, domain: null },
    { name: 'state', type: 'esriFieldTypeString', domain: { type: 'codedValue' } },
    { name: 'note', type: 'esriFieldTypeString', length: 3, domain: null },
  ]
  const features = [1, 2, 3].map((FID) => ({
    attributes: { FID },
    geometry: {
      rings: [
        [
          [1, 2],
          [3, 4],
        ],
      ],
    },
  }))
  const layer = { id: 4, geometryType: 'esriGeometryPolygon', objectIdField: 'FID', fields, features }
  const [edits] = createRandomEdits([layer], { seed: 3, count: 40 })
  expect(edits?.attachments).toEqual({ adds: [], deletes: [] })
  expect((edits?.updates.length ?? 0) + (edits?.deletes.length ?? 0)).toBe(3)
  for (const { attributes, geometry } of edits?.adds ?? []) {
    expect(Object.keys(attributes)).toEqual(['note'])
    expect(String(attributes.note ?? '').length).toBeLessThanOrEqual(3)
    expect(geometry).toHaveProperty('rings')
  }
})

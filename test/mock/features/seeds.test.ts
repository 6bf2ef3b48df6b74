import { createManualClock, createMockService, type LayerSeed } from 'geohook/mock'
import { describe, expect, it } from 'vitest'
import { get, type Json, LAYER, SERVICE, startFeatures } from './support.ts'

const NOW = 1800000000000
const clock = () => createManualClock(NOW)
const fieldsOf = ({ fields }: Json) => Object.fromEntries(fields.map(({ name, type }: Json) => [name, type]))

describe('a layer of a seed', () => {
  it('has fields that are inferred from its features', async () => {
    const layers: LayerSeed[] = [
      {
        name: 'Trees',
        features: [
          { attributes: { whole: 1, mixed: 1, fraction: 1, flag: true, list: [1], none: null, big: 3e9 } },
          { attributes: { whole: 2, mixed: 'a', fraction: 0.5, more: 'x' }, geometry: { x: 1, y: 2 } },
        ],
      },
    ]
    const service = await startFeatures(layers, { clock: clock() })
    const layer = await get(service, LAYER)
    expect(layer.geometryType).toBe('esriGeometryPoint')
    expect(fieldsOf(layer)).toEqual({
      OBJECTID: 'esriFieldTypeOID',
      GlobalID: 'esriFieldTypeGlobalID',
      whole: 'esriFieldTypeInteger',
      mixed: 'esriFieldTypeString',
      fraction: 'esriFieldTypeDouble',
      flag: 'esriFieldTypeInteger',
      list: 'esriFieldTypeString',
      none: 'esriFieldTypeString',
      big: 'esriFieldTypeDouble',
      more: 'esriFieldTypeString',
      CreationDate: 'esriFieldTypeDate',
      Creator: 'esriFieldTypeString',
      EditDate: 'esriFieldTypeDate',
      Editor: 'esriFieldTypeString',
    })
    const { features } = await get(service, `${LAYER}/query`)
    expect(features.map(({ attributes }: Json) => attributes)).toMatchObject([
      { OBJECTID: 1, whole: 1, mixed: '1', flag: 1, list: '[1]', none: null, more: null, Creator: 'admin' },
      { OBJECTID: 2, mixed: 'a', fraction: 0.5, flag: null, CreationDate: NOW, EditDate: NOW },
    ])
  })

  it('can have fields with the names of members of every object', async () => {
    const fields = ['constructor', 'toString'].map((name) => ({ name, type: 'esriFieldTypeString' as const }))
    const service = await startFeatures([
      { name: 'Trees', fields, features: [{ attributes: { toString: 'x' } }] },
    ])
    const { features } = await get(service, `${LAYER}/query`)
    expect(features).toMatchObject([{ attributes: { constructor: null, toString: 'x' } }])
    expect(Object.hasOwn(features[0].attributes, 'constructor')).toBe(true)
  })

  it('keeps ids and editor fields of its features', async () => {
    const GlobalID = '0b0d9f1e-53a5-4a2e-9d4e-7c0f6a1f2b3c'
    const service = await startFeatures([
      {
        name: 'Trees',
        fields: [
          { name: 'FID', type: 'esriFieldTypeOID' },
          { name: 'Editor', type: 'esriFieldTypeString' },
        ],
        features: [{ attributes: {} }, { attributes: { fid: 1, globalid: GlobalID, editor: 'kim' } }],
      },
    ])
    expect((await get(service, LAYER)).objectIdField).toBe('FID')
    const { features } = await get(service, `${LAYER}/query`, { orderByFields: 'FID' })
    expect(features.map(({ attributes }: Json) => attributes)).toMatchObject([
      { FID: 1, GlobalID: `{${GlobalID.toUpperCase()}}`, Editor: 'kim' },
      { FID: 2, Editor: 'admin' },
    ])
  })

  it.each([
    ['Point', [1, 2], 'esriGeometryPoint', { x: 1, y: 2 }],
    ['MultiPoint', [[1, 2]], 'esriGeometryMultipoint', { points: [[1, 2]] }],
    [
      'LineString',
      [
        [1, 2],
        [3, 4],
      ],
      'esriGeometryPolyline',
      {
        paths: [
          [
            [1, 2],
            [3, 4],
          ],
        ],
      },
    ],
    [
      'MultiLineString',
      [
        [
          [1, 2],
          [3, 4],
        ],
      ],
      'esriGeometryPolyline',
      {
        paths: [
          [
            [1, 2],
            [3, 4],
          ],
        ],
      },
    ],
    [
      'Polygon',
      [
        [
          [0, 0],
          [4, 0],
          [4, 4],
          [0, 0],
        ],
      ],
      'esriGeometryPolygon',
      {
        rings: [
          [
            [0, 0],
            [4, 4],
            [4, 0],
            [0, 0],
          ],
        ],
      },
    ],
  ])('can be GeoJSON with the geometry %s', async (type, coordinates, geometryType, geometry) => {
    const features = {
      type: 'FeatureCollection' as const,
      features: [
        { type: 'Feature' as const, id: 7, properties: { kind: 'oak' }, geometry: { type, coordinates } },
        { type: 'Feature' as const, properties: null, geometry: null },
      ],
    }
    const service = await startFeatures([{ name: 'Trees', features }])
    const answer = await get(service, `${LAYER}/query`)
    expect(answer).toMatchObject({
      geometryType,
      spatialReference: { wkid: 4326 },
      features: [
        { attributes: { OBJECTID: 7, kind: 'oak' }, geometry },
        { attributes: { OBJECTID: 1, kind: null } },
      ],
    })
  })

  it('is one layer of points by default', async () => {
    const service = await startFeatures()
    expect(await get(service, SERVICE)).toMatchObject({
      layers: [{ id: 0, name: 'Parcels', geometryType: 'esriGeometryPoint' }],
      tables: [],
    })
    expect(Object.keys(fieldsOf(await get(service, LAYER)))).toEqual([
      ...['OBJECTID', 'GlobalID', 'name', 'notes'],
      ...['CreationDate', 'Creator', 'EditDate', 'Editor'],
    ])
  })

  const collection = (geometry: object): LayerSeed['features'] => ({
    type: 'FeatureCollection',
    features: [{ type: 'Feature', properties: {}, geometry }],
  })

  it.each<[string, unknown, RegExp]>([
    ['no layers', [], /1 to 100 layers/],
    ['an unknown member', [{ name: 'a', colour: 1 }], /layers of Parcels\.0: .*colour/],
    ['the same id twice', [{ name: 'a', id: 1 }, { name: 'b' }], /same id/],
    ['an unknown type', [{ name: 'a', fields: [{ name: 'b', type: 'text' }] }], /fields\.0\.type/],
    [
      'two fields with one name',
      [
        {
          name: 'a',
          fields: [
            { name: 'b', type: 'esriFieldTypeDate' },
            { name: 'B', type: 'esriFieldTypeDate' },
          ],
        },
      ],
      /same name/,
    ],
    [
      'the field __proto__',
      [{ name: 'a', fields: [{ name: '__proto__', type: 'esriFieldTypeDate' }] }],
      /fields\.0\.name/,
    ],
    [
      'an unknown attribute',
      [{ name: 'a', fields: [], features: [{ attributes: { b: 1 } }] }],
      /features\.0: .*no field "b"/,
    ],
    [
      'the same object id twice',
      [{ name: 'a', features: [{ attributes: { OBJECTID: 1 } }, { attributes: { OBJECTID: 1 } }] }],
      /same objectId/,
    ],
    [
      'a negative object id',
      [{ name: 'a', features: [{ attributes: { OBJECTID: -1 } }] }],
      /must not be negative/,
    ],
    [
      'two types of geometries',
      [
        {
          name: 'a',
          features: [
            { attributes: {}, geometry: { x: 1, y: 2 } },
            { attributes: {}, geometry: { paths: [] } },
          ],
        },
      ],
      /features\.1: Geometry could not be set/,
    ],
    [
      'a GeometryCollection',
      [{ name: 'a', features: collection({ type: 'GeometryCollection', geometries: [] }) }],
      /geometry: the type must be/,
    ],
    [
      'broken coordinates',
      [{ name: 'a', features: collection({ type: 'Polygon', coordinates: 5 }) }],
      /Trees|not valid|could not be set/,
    ],
    [
      'GeoJSON in another reference',
      [
        {
          name: 'a',
          spatialReference: { wkid: 3857 },
          features: collection({ type: 'Point', coordinates: [1, 2] }),
        },
      ],
      /needs the spatial reference 4326/,
    ],
  ])('refuses %s', (_, layers, message) => {
    const services = [
      { serviceName: 'Parcels', serviceType: 'FeatureServer' as const, layers: layers as LayerSeed[] },
    ]
    expect(() => createMockService({ services })).toThrow(
      expect.objectContaining({ code: 'config_invalid', message: expect.stringMatching(message) }),
    )
  })

  it('belongs to a feature service only', () => {
    const services = [{ serviceName: 'Jobs', serviceType: 'GPServer' as const, layers: [{ name: 'a' }] }]
    expect(() => createMockService({ services })).toThrow(/only a feature service has layers/)
  })
})

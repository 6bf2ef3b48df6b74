import { check } from '../schemas.ts'
import { fromGeoJson as convert } from './geojson.ts'
import { toFieldValue } from './infer-fields.ts'
import { collectionSchema } from './layer-seed.ts'
import type { GeoJsonCollection } from './seed-types.ts'

/** A GeoJSON Feature (RFC 7946). */
export type GeoJsonFeature = GeoJsonCollection['features'][number]

/** A feature in Esri JSON, for `applyEdits`. Its geometry has the spatial reference 4326. */
export interface GeoJsonRow {
  attributes: Record<string, unknown>
  geometry?: object | undefined
}

/**
 * Converts GeoJSON to Esri JSON. True and false become 1 and 0, and objects and arrays become JSON.
 *
 * @param objectIdField attribute for ids that are whole numbers. Default `'OBJECTID'`
 * @throws {WebhookError} `config_invalid` if the value is not a Feature or FeatureCollection, or a geometry is invalid
 * @example
 * ```ts
 * import { createMockService, fromGeoJson } from 'geohook/mock'
 *
 * const service = createMockService({ services: [{ serviceName: 'Parcels', serviceType: 'FeatureServer' }] })
 * const geometry = { type: 'Point', coordinates: [7.1, 51.4] }
 * const adds = fromGeoJson({ type: 'Feature', properties: { name: 'Oak' }, geometry })
 * await service.features('Parcels').applyEdits({ adds }).attempts
 * ```
 */
export function fromGeoJson(
  geoJson: GeoJsonCollection | GeoJsonFeature,
  objectIdField = 'OBJECTID',
): GeoJsonRow[] {
  const isFeature = (geoJson as Partial<GeoJsonFeature> | null)?.type === 'Feature'
  const given = isFeature ? { type: 'FeatureCollection', features: [geoJson] } : geoJson
  const { features, ...rest } = check<GeoJsonCollection>(collectionSchema, given, 'GeoJSON')
  const ids = features.map(({ id }) => (Number.isSafeInteger(id) ? { [objectIdField]: id } : {}))
  const withoutIds = { ...rest, features: features.map(({ id: _, ...feature }) => feature) }
  return convert(withoutIds, 'GeoJSON').map(({ attributes, geometry }, index) => ({
    attributes: { ...ids[index], ...mapValues(attributes, toFieldValue) },
    ...(geometry ? { geometry } : {}),
  }))
}

const mapValues = (
  values: Readonly<Record<string, unknown>>,
  convertValue: (value: unknown) => unknown,
): Record<string, unknown> =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [name, convertValue(value)]))

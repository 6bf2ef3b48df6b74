import { arcgisToGeoJSON } from '@terraformer/arcgis'
import { malformed } from './json.ts'
import type { Feature } from './types.ts'

type Position = number[]

/** A geometry of GeoJSON (RFC 7946). */
export type GeoJsonGeometry =
  | { type: 'Point'; coordinates: Position }
  | { type: 'MultiPoint'; coordinates: Position[] }
  | { type: 'LineString'; coordinates: Position[] }
  | { type: 'MultiLineString'; coordinates: Position[][] }
  | { type: 'Polygon'; coordinates: Position[][] }
  | { type: 'MultiPolygon'; coordinates: Position[][][] }

/** A feature of GeoJSON (RFC 7946). */
export interface GeoJsonFeature<Attributes extends object = Record<string, unknown>> {
  type: 'Feature'
  /** The object id, if the feature has one. */
  id?: number | string
  geometry: GeoJsonGeometry | null
  properties: Attributes
}

/**
 * Converts a feature to GeoJSON. Coordinates stay as they are, and GeoJSON requires longitude and latitude: create the
 * client with `outSR: 4326`, unless the layer has that reference.
 *
 * @throws {WebhookError} `changes_malformed` for an invalid geometry
 * @example
 * ```ts
 * import { toGeoJSON } from 'geohook/changes'
 *
 * const feature = toGeoJSON({ attributes: { OBJECTID: 7 }, geometry: { x: 8.5, y: 47.4 } })
 * console.log(feature.id, feature.geometry) // 7 { type: 'Point', coordinates: [ 8.5, 47.4 ] }
 * ```
 */
export function toGeoJSON<Attributes extends object>({
  attributes,
  geometry,
}: Feature<Attributes>): GeoJsonFeature<Attributes> {
  // The library writes a warning to the console for geometries with another reference.
  const { spatialReference: _, ...shape } = geometry ?? {}
  const esri = { attributes, ...(geometry ? { geometry: shape } : {}) } as Parameters<
    typeof arcgisToGeoJSON
  >[0]
  // Without the name of a field, the library knows only `OBJECTID` and `FID`, in upper case.
  const idField = Object.keys(attributes).find((name) => /^(?:objectid|fid)$/i.test(name))
  try {
    return arcgisToGeoJSON(esri, idField) as unknown as GeoJsonFeature<Attributes>
  } catch {
    throw malformed('the geometry of a feature cannot be converted to GeoJSON')
  }
}

import { arcgisToGeoJSON } from '@terraformer/arcgis'
import { malformed, type Position, readGeometry } from './geometry.ts'
import type { Feature } from './types.ts'

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
 * client with `outSR: 4326`, unless the layer has that reference. Measures (`hasM`) are left out.
 *
 * @throws {WebhookError} `changes_malformed` for an invalid geometry, for one with curves, and for a polygon with so
 * many positions in its rings and holes that the conversion would take longer than about half a second
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
  const esri = { attributes, ...(geometry ? { geometry: readGeometry(geometry) } : {}) }
  try {
    const converted = arcgisToGeoJSON(esri as Parameters<typeof arcgisToGeoJSON>[0], findIdField(attributes))
    return converted as unknown as GeoJsonFeature<Attributes>
  } catch {
    throw malformed('cannot be converted to GeoJSON')
  }
}

/**
 * Finds the field of the object id in any case; the library knows only upper case. A layer that was imported from a file
 * can have a field `FID` besides its object id.
 */
function findIdField(attributes: object): string | undefined {
  const entries = Object.entries(attributes)
  for (const id of ['objectid', 'fid'])
    for (const [name, value] of entries)
      if (name.toLowerCase() === id && (typeof value === 'number' || typeof value === 'string')) return name
  return undefined
}

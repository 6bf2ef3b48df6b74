import { convertGeometry, type GeoJsonGeometry } from './geometry.ts'
import type { Feature } from './types.ts'

export type { GeoJsonGeometry } from './geometry.ts'

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
 * client with `outSR: 4326`, unless the layer has that reference. Curves become an error, and measures (`hasM`) are left out, because GeoJSON has neither.
 *
 * @throws {WebhookError} `changes_malformed` for an invalid geometry, one with curves, or one with so many rings that
 * sorting its holes would take longer than about 200 ms
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
  const id = findId(attributes)
  return {
    type: 'Feature',
    ...(id === undefined ? {} : { id }),
    geometry: geometry ? convertGeometry(geometry) : null,
    properties: { ...attributes },
  }
}

/** A layer that was imported from a file can have a field `FID` besides its object id. */
function findId(attributes: object): number | string | undefined {
  const entries = Object.entries(attributes)
  for (const id of ['objectid', 'fid'])
    for (const [name, value] of entries)
      if (name.toLowerCase() === id && (typeof value === 'number' || typeof value === 'string')) return value
  return undefined
}

import { ChangesError } from './errors.ts'
import { malformed, type Position, readLines, readNumber, readPositions } from './geometry.ts'
import { isObject } from './json.ts'
import { toPolygons } from './rings.ts'
import type { Feature, Geometry } from './types.ts'

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
  if (!isObject(attributes))
    throw new ChangesError('changes_malformed', {
      message: 'a feature has no attributes',
      hint: 'Pass a feature of the result of changes.of().',
    })
  const id = findId(attributes)
  return {
    type: 'Feature',
    ...(id === undefined ? {} : { id }),
    geometry: geometry ? convertGeometry(geometry) : null,
    properties: { ...attributes },
  }
}

/** Finds the object id. A layer imported from a file can have both a field `FID` and another object id. */
function findId(attributes: object): number | string | undefined {
  const entries = Object.entries(attributes)
  for (const id of ['objectid', 'fid'])
    for (const [name, value] of entries)
      if (name.toLowerCase() === id && (typeof value === 'number' || typeof value === 'string')) return value
  return undefined
}

function convertGeometry(geometry: Geometry): GeoJsonGeometry | null {
  if (!isObject(geometry)) throw malformed('is not an object')
  const { points, paths, rings, hasZ, curveRings, curvePaths } = geometry
  if (curveRings || curvePaths)
    throw malformed('has curves', 'GeoJSON has no curves. Convert the curves of the layer to lines.')
  if (rings) {
    const polygons = toPolygons(readLines(rings, 'rings', hasZ === true))
    const [only] = polygons
    if (only && polygons.length === 1) return { type: 'Polygon', coordinates: only }
    return { type: 'MultiPolygon', coordinates: polygons }
  }
  if (paths) {
    const lines = readLines(paths, 'paths', hasZ === true)
    const [only] = lines
    if (only && lines.length === 1) return { type: 'LineString', coordinates: only }
    return { type: 'MultiLineString', coordinates: lines }
  }
  if (points) return { type: 'MultiPoint', coordinates: readPositions(points, 'points', hasZ === true) }
  const [x, y, z, xmin, ymin, xmax, ymax] = ['x', 'y', 'z', 'xmin', 'ymin', 'xmax', 'ymax'].map((name) =>
    readNumber(geometry[name]),
  )
  if (xmin !== undefined && ymin !== undefined && xmax !== undefined && ymax !== undefined) {
    const corners = [
      [xmax, ymax],
      [xmin, ymax],
      [xmin, ymin],
      [xmax, ymin],
      [xmax, ymax],
    ]
    return { type: 'Polygon', coordinates: [corners] }
  }
  if (x === undefined || y === undefined) return null
  return { type: 'Point', coordinates: z === undefined ? [x, y] : [x, y, z] }
}

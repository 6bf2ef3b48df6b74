import { ChangesError } from './errors.ts'
import { isObject } from './json.ts'
import { type Position, toPolygons } from './polygons.ts'
import type { Geometry } from './types.ts'

/** A geometry of GeoJSON (RFC 7946). */
export type GeoJsonGeometry =
  | { type: 'Point'; coordinates: Position }
  | { type: 'MultiPoint'; coordinates: Position[] }
  | { type: 'LineString'; coordinates: Position[] }
  | { type: 'MultiLineString'; coordinates: Position[][] }
  | { type: 'Polygon'; coordinates: Position[][] }
  | { type: 'MultiPolygon'; coordinates: Position[][][] }

/**
 * Converts a geometry to GeoJSON.
 *
 * @returns `null` for a geometry without coordinates
 * @throws {WebhookError} `changes_malformed`
 */
export function convertGeometry(geometry: Geometry): GeoJsonGeometry | null {
  if (!isObject(geometry)) throw malformed('is not an object')
  const { x, y, z, points, paths, rings, hasZ } = geometry
  if (geometry.curveRings || geometry.curvePaths)
    throw malformed('has curves', 'GeoJSON has no curves. Convert the curves of the layer to lines.')
  if (rings) return toPolygonGeometry(readLines(rings, 'rings', hasZ))
  if (paths) {
    const lines = readLines(paths, 'paths', hasZ)
    const [line] = lines
    return line && lines.length === 1
      ? { type: 'LineString', coordinates: line }
      : { type: 'MultiLineString', coordinates: lines }
  }
  if (points) return { type: 'MultiPoint', coordinates: readPositions(points, 'points', hasZ) }
  if (!isUnset(x) && !isUnset(y)) return { type: 'Point', coordinates: toPosition([x, y, z], true) }
  return convertEnvelope(geometry)
}

function convertEnvelope({ xmin, ymin, xmax, ymax }: Geometry): GeoJsonGeometry | null {
  if ([xmin, ymin, xmax, ymax].some(isUnset)) return null
  const corners = [
    [xmax, ymax],
    [xmin, ymax],
    [xmin, ymin],
    [xmax, ymin],
    [xmax, ymax],
  ]
  return { type: 'Polygon', coordinates: [corners.map((corner) => toPosition(corner, false))] }
}

function toPolygonGeometry(lines: readonly Position[][]): GeoJsonGeometry {
  const polygons = toPolygons(lines.map(close).filter((ring) => ring.length >= 4))
  const [polygon] = polygons
  return polygon && polygons.length === 1
    ? { type: 'Polygon', coordinates: polygon }
    : { type: 'MultiPolygon', coordinates: polygons }
}

function close(line: Position[]): Position[] {
  const [first] = line
  if (!first) throw malformed('has an empty ring')
  const isClosed = first.every((value, index) => value === line.at(-1)?.[index])
  return isClosed ? line : [...line, [...first]]
}

function readLines(value: unknown, name: string, hasZ: unknown): Position[][] {
  if (!Array.isArray(value)) throw malformed(`has ${name} that are not a list`)
  return value.map((line) => readPositions(line, name, hasZ))
}

function readPositions(value: unknown, name: string, hasZ: unknown): Position[] {
  if (!Array.isArray(value)) throw malformed(`has ${name} that are not lists of positions`)
  return value.map((position) => toPosition(position, hasZ === true))
}

/** The third member is the altitude with `hasZ`, and a measure otherwise. GeoJSON has no measures. */
function toPosition(value: unknown, hasZ: boolean): Position {
  const [x, y, z] = Array.isArray(value) ? value : []
  const position = hasZ && !isUnset(z) ? [x, y, z] : [x, y]
  if (!position.every(Number.isFinite)) throw malformed('has a position that is not a list of numbers')
  return position
}

/** Services send null or "NaN" for coordinates that a point does not have. */
const isUnset = (value: unknown): boolean =>
  value === undefined || value === null || value === 'NaN' || Number.isNaN(value)

const malformed = (
  problem: string,
  hint = 'Look at the feature in the service, and repair its geometry.',
): ChangesError =>
  new ChangesError('changes_malformed', { message: `the geometry of a feature ${problem}`, hint })

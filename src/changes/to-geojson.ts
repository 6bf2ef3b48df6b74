import { isObject } from '../shared/json.ts'
import { ChangesError } from './errors.ts'
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
 * import { toGeoJson } from 'geohook/changes'
 *
 * const feature = toGeoJson({ attributes: { OBJECTID: 7 }, geometry: { x: 8.5, y: 47.4 } })
 * console.log(feature.id, feature.geometry) // 7 { type: 'Point', coordinates: [ 8.5, 47.4 ] }
 * ```
 */
export function toGeoJson<Attributes extends object>({
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

interface Ring {
  /** The closed ring, in the direction of GeoJSON, which is opposite to that of the service. */
  line: Position[]
  x: Float64Array
  y: Float64Array
  /** Twice the area: at least 0 for outer rings, NaN if the coordinates are too large. */
  area: number
  west: number
  east: number
  south: number
  north: number
  /** A point inside of a hole. */
  px: number
  py: number
}

type Budget = { left: number }

/** Maximum number of comparisons. Comparing all rings takes quadratic time, and editors of features choose the rings. */
const MAX_COMPARISONS = 20_000_000

/** Number of comparisons that a pair of rings counts for, because reading rings outside the CPU cache is slow. */
const PER_RING = 4

/**
 * Groups rings into polygons. A hole belongs to the smallest ring around it or, without one, to the smallest ring that it
 * crosses. A hole without either becomes a polygon. Rings with fewer than three corners are dropped.
 *
 * @throws {WebhookError} `changes_malformed`
 */
function toPolygons(lines: readonly Position[][]): Position[][][] {
  const rings = lines
    .map(readRing)
    .filter(({ line }) => line.length >= 4)
    .sort((a, b) => Math.abs(b.area) - Math.abs(a.area))
  const isOuter = ({ area }: Ring): boolean => area >= 0
  const polygons = rings.filter(isOuter).map((outer) => ({ outer, lines: [outer.line] }))
  const budget: Budget = { left: MAX_COMPARISONS }
  const place = (hole: Ring, isIn: typeof isCrossing): boolean => {
    // Polygons are sorted by size, so the last match is the smallest.
    const polygon = polygons.findLast(({ outer }) => isIn(hole, outer, budget))
    polygon?.lines.push(hole.line)
    return polygon !== undefined
  }
  const holes = rings.filter((ring) => !isOuter(ring)).reverse()
  for (const hole of holes) Object.assign(hole, findInside(hole))
  const others = holes.filter((hole) => !place(hole, isContained)).reverse()
  for (const hole of others)
    if (!place(hole, isCrossing)) polygons.push({ outer: hole, lines: [[...hole.line].reverse()] })
  return polygons.map((polygon) => polygon.lines)
}

function readRing(positions: Position[]): Ring {
  const [first] = positions
  if (!first) throw malformed('has a ring without positions')
  const isClosed = first.every((value, index) => value === positions.at(-1)?.[index])
  const line = isClosed ? [...positions] : [...positions, first]
  const x = new Float64Array(line.length)
  const y = new Float64Array(line.length)
  const box = { west: Infinity, east: -Infinity, south: Infinity, north: -Infinity }
  const ring = { line, x, y, area: 0, ...box, px: 0, py: 0 }
  for (let i = 0; i < line.length; i++) {
    x[i] = line[i]![0]!
    y[i] = line[i]![1]!
    if (i > 0) ring.area += (x[i]! - x[i - 1]!) * (y[i]! + y[i - 1]!)
    ring.west = Math.min(ring.west, x[i]!)
    ring.east = Math.max(ring.east, x[i]!)
    ring.south = Math.min(ring.south, y[i]!)
    ring.north = Math.max(ring.north, y[i]!)
  }
  for (const list of [line, x, y]) list.reverse()
  return ring
}

/** True if the ring is larger than the hole, and has a point in it that is inside of the hole. */
function isContained(hole: Ring, ring: Ring, budget: Budget): boolean {
  spend(budget, PER_RING)
  const { px, py } = hole
  if (px < ring.west || px > ring.east || py < ring.south || py > ring.north) return false
  // An island in a hole can have the point too.
  if (ring.area <= -hole.area) return false
  spend(budget, ring.x.length)
  let isInside = false
  for (let i = 1; i < ring.x.length; i++) if (px < crossingAt(ring, i, py)) isInside = !isInside
  return isInside
}

/** Finds a point inside of a ring. The rings of valid polygons can touch, so no corner is inside for sure. */
function findInside(ring: Ring): { px: number; py: number } {
  const py = ring.south + (ring.north - ring.south) * 0.4142 // an even part would often be the height of a corner
  const crossings = ring.x.map((_, i) => (i > 0 ? crossingAt(ring, i, py) : Number.NaN))
  const found = crossings.filter(Number.isFinite).sort()
  let px = ring.x[0]!
  let widest = 0
  for (let i = 1; i < found.length; i += 2) {
    const width = found[i]! - found[i - 1]!
    if (width > widest) px = found[i - 1]! + width / 2
    widest = Math.max(widest, width)
  }
  return { px, py }
}

/** Returns where an edge of a ring crosses a horizontal line; NaN if it does not. */
function crossingAt({ x, y }: Ring, index: number, py: number): number {
  const y1 = y[index]!
  const y2 = y[index - 1]!
  if (y1 <= py === y2 <= py) return Number.NaN
  return ((x[index - 1]! - x[index]!) * (py - y1)) / (y2 - y1) + x[index]!
}

/** True if an edge of the hole has a point in common with an edge of the ring. */
function isCrossing(hole: Ring, ring: Ring, budget: Budget): boolean {
  spend(budget, PER_RING)
  const { west, east, south, north } = hole
  if (ring.east < west || ring.west > east || ring.north < south || ring.south > north) return false
  const { x, y } = ring
  spend(budget, x.length)
  for (let i = 1; i < x.length; i++) {
    const x1 = x[i - 1]!
    const x2 = x[i]!
    if ((x1 < west && x2 < west) || (x1 > east && x2 > east)) continue
    const y1 = y[i - 1]!
    const y2 = y[i]!
    if ((y1 < south && y2 < south) || (y1 > north && y2 > north)) continue
    spend(budget, hole.x.length)
    if (isCrossed(hole, x1, y1, x2, y2)) return true
  }
  return false
}

function isCrossed({ x, y }: Ring, x1: number, y1: number, x2: number, y2: number): boolean {
  for (let j = 1; j < x.length; j++) {
    const dx = x[j]! - x[j - 1]!
    const dy = y[j]! - y[j - 1]!
    const both = dy * (x2 - x1) - dx * (y2 - y1)
    const one = (dx * (y1 - y[j - 1]!) - dy * (x1 - x[j - 1]!)) / both
    const other = ((x2 - x1) * (y1 - y[j - 1]!) - (y2 - y1) * (x1 - x[j - 1]!)) / both
    if (both !== 0 && one >= 0 && one <= 1 && other >= 0 && other <= 1) return true
  }
  return false
}

function spend(budget: Budget, comparisons: number): void {
  budget.left -= comparisons
  if (budget.left >= 0) return
  const hint = 'Simplify the geometry, or split the feature.'
  throw malformed('has too many positions in its rings and holes', hint)
}

export type Position = number[]

/** Reads a coordinate, if the geometry has it. @throws {WebhookError} `changes_malformed` */
function readNumber(value: unknown): number | undefined {
  if (isUnset(value)) return undefined
  if (!Number.isFinite(value)) throw malformed('has coordinates that are not numbers')
  return value as number
}

/** Reads rings or paths. @throws {WebhookError} `changes_malformed` */
function readLines(value: unknown, name: string, hasZ: boolean): Position[][] {
  if (!Array.isArray(value)) throw malformed(`has ${name} that are not a list`)
  return value.map((line) => readPositions(line, name, hasZ))
}

function readPositions(value: unknown, name: string, hasZ: boolean): Position[] {
  if (!Array.isArray(value)) throw malformed(`has ${name} that are not lists of positions`)
  return value.map((position) => readPosition(position, hasZ))
}

/** The third member is the altitude with `hasZ`, and a measure otherwise. GeoJSON has no measures. */
function readPosition(value: unknown, hasZ: boolean): Position {
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

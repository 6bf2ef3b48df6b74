import { ChangesError } from './errors.ts'
import { isObject } from './json.ts'
import type { Geometry } from './types.ts'

export type Position = number[]

/** A geometry that the library converts: with numbers only, and without members that it does not know. */
export type Convertible = Partial<
  Record<'x' | 'y' | 'z' | 'xmin' | 'ymin' | 'xmax' | 'ymax', number> & {
    points: Position[]
    paths: Position[][]
    rings: Position[][]
  }
>

/**
 * Maximum number of positions of outer rings, multiplied by that of holes. The library compares all of them with each
 * other, and editors of features choose the rings: this many take 0.1 s, and 0.5 s if no ring contains the holes.
 */
const MAX_COMPARISONS = 20_000_000

/**
 * Checks a geometry for the library, which takes measures for altitudes, curves for nothing and text for numbers.
 *
 * @throws {WebhookError} `changes_malformed`
 */
export function readGeometry(geometry: Geometry): Convertible {
  if (!isObject(geometry)) throw malformed('is not an object')
  const { points, paths, rings, hasZ, curveRings, curvePaths } = geometry
  if (curveRings || curvePaths)
    throw malformed('has curves', 'GeoJSON has no curves. Convert the curves of the layer to lines.')
  if (rings) return { rings: sortRings(readLines(rings, 'rings', hasZ === true)) }
  if (paths) return { paths: readLines(paths, 'paths', hasZ === true) }
  if (points) return { points: readPositions(points, 'points', hasZ === true) }
  const { x, y, z, xmin, ymin, xmax, ymax } = geometry
  const numbers = Object.entries({ x, y, z, xmin, ymin, xmax, ymax }).filter(([, value]) => !isUnset(value))
  if (!numbers.every(([, value]) => Number.isFinite(value)))
    throw malformed('has coordinates that are not numbers')
  return Object.fromEntries(numbers) as Convertible
}

/** Puts large rings first: the library takes the last ring that contains a hole, which is then the nearest one. */
function sortRings(rings: readonly Position[][]): Position[][] {
  const sized = rings.map((ring) => ({ ring, area: areaOf(ring) }))
  const countIf = (isCounted: (area: number) => boolean): number =>
    sized.reduce((sum, { ring, area }) => (isCounted(area) ? sum + ring.length : sum), 0)
  if (countIf((area) => area > 0) * countIf((area) => area <= 0) > MAX_COMPARISONS)
    throw malformed(
      'has too many positions in its rings and holes',
      'Simplify the geometry, or split the feature.',
    )
  return sized.sort((a, b) => Math.abs(b.area) - Math.abs(a.area)).map(({ ring }) => ring)
}

/** Twice the area of a ring; positive if the ring is an outer one, which is clockwise. */
const areaOf = (ring: readonly Position[]): number =>
  ring.reduce((sum, [x = 0, y = 0], index) => {
    const [nextX = 0, nextY = 0] = ring[(index + 1) % ring.length] ?? []
    return sum + (nextX - x) * (nextY + y)
  }, 0)

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

export const malformed = (
  problem: string,
  hint = 'Look at the feature in the service, and repair its geometry.',
): ChangesError =>
  new ChangesError('changes_malformed', { message: `the geometry of a feature ${problem}`, hint })

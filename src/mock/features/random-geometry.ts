import type { Random } from './random.ts'

type Point = readonly [x: number, y: number]

/** Distance of new coordinates to those of an existing feature: a kilometre in degrees, or 100 metres. */
const stepAt = ([x, y]: Point): number => (Math.max(Math.abs(x), Math.abs(y)) <= 360 ? 0.01 : 100)

/** Rounds to six decimal places. Adds 0, because -0 becomes 0 in JSON, and clients would see another number. */
const round = (value: number): number => Math.round(value * 1e6) / 1e6 + 0

/** A place near one of the geometries, or anywhere on the map without geometries. */
function createPlace(random: Random, geometries: readonly object[]): Point {
  const known = geometries.length > 0 ? firstPoint(random.pick(geometries)) : undefined
  const place: Point = known ?? [random.whole(-170, 170), random.whole(-80, 80)]
  return moved(random, place)
}

function moved(random: Random, [x, y]: Point): Point {
  const step = stepAt([x, y])
  return [x + (random.next() * 2 - 1) * step, y + (random.next() * 2 - 1) * step]
}

/** The first coordinates of a geometry; undefined if it has none. */
function firstPoint(geometry: object): Point | undefined {
  const { x, y, points, paths, rings } = geometry as Record<string, unknown>
  let found: unknown = typeof x === 'number' ? [x, y] : (points ?? paths ?? rings)
  while (Array.isArray(found) && Array.isArray(found[0])) found = found[0]
  if (!Array.isArray(found)) return undefined
  const [first, second] = found as unknown[]
  return typeof first === 'number' && typeof second === 'number' ? [first, second] : undefined
}

/**
 * Creates a geometry in Esri JSON.
 *
 * @param near geometries of the layer
 * @returns undefined for a type that is not known
 */
export function createGeometry(random: Random, type: string, near: readonly object[]): object | undefined {
  const [x, y] = createPlace(random, near)
  const step = stepAt([x, y])
  const at = (dx: number, dy: number): number[] => [round(x + dx * step), round(y + dy * step)]
  const size = random.whole(1, 4)
  if (type === 'esriGeometryPoint') return { x: round(x), y: round(y) }
  if (type === 'esriGeometryMultipoint') return { points: [at(0, 0), at(size, 0)] }
  if (type === 'esriGeometryPolyline') return { paths: [[at(0, 0), at(size, 1), at(size + 1, 0)]] }
  // Outer rings run clockwise.
  if (type === 'esriGeometryPolygon')
    return { rings: [[at(0, 0), at(0, size), at(size, size), at(size, 0), at(0, 0)]] }
  return undefined
}

/** Moves a geometry by a small distance. */
export function moveGeometry(random: Random, geometry: object): object {
  const from = firstPoint(geometry)
  if (!from) return geometry
  const to = moved(random, from)
  const move = (x: number, y: number): [number, number] => [
    round(x + to[0] - from[0]),
    round(y + to[1] - from[1]),
  ]
  const moveAll = (value: unknown): unknown => {
    if (!Array.isArray(value)) return value
    const [x, y, ...rest] = value as unknown[]
    return typeof x === 'number' && typeof y === 'number' ? [...move(x, y), ...rest] : value.map(moveAll)
  }
  const { x, y, ...others } = geometry as Record<string, unknown>
  const lists = Object.fromEntries(Object.entries(others).map(([name, value]) => [name, moveAll(value)]))
  if (typeof x !== 'number' || typeof y !== 'number') return lists
  const [newX, newY] = move(x, y)
  return { x: newX, y: newY, ...lists }
}

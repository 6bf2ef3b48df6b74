import { ChangesError } from './errors.ts'

/** A position of GeoJSON: longitude, latitude and, optionally, altitude. */
export type Position = number[]

/** A closed list of positions. */
type Ring = Position[]

type Point = readonly [x: number, y: number]

/** Maximum number of comparisons, which take less than 200 ms. The editors of a feature choose its rings. */
const MAX_STEPS = 40_000_000

/** Measured costs of two other operations, in comparisons of a point with an edge. */
const BOX = 2
const CALL = 20

/**
 * Sorts the rings of a geometry into polygons: each hole goes to the smallest outer ring around it.
 *
 * @param rings closed, with at least 4 positions; outer rings are clockwise
 * @returns polygons of GeoJSON, whose outer rings are counterclockwise
 * @throws {WebhookError} `changes_malformed` if there are too many rings and positions
 */
export function toPolygons(rings: readonly Ring[]): Ring[][] {
  const outers: Ring[] = []
  const holes: Ring[] = []
  for (const ring of rings) (isClockwise(ring) ? outers : holes).push(ring)
  const polygons = outers.map((ring) => [[...ring].reverse()])
  const findOuter = createFinder(outers)
  for (const hole of holes) {
    const polygon = polygons[findOuter(hole)]
    if (polygon) polygon.push([...hole].reverse())
    else polygons.push([hole])
  }
  return polygons
}

/** Creates a function that returns the index of the ring around a hole, or -1. */
function createFinder(outers: readonly Ring[]): (hole: Ring) => number {
  // Lists of numbers, because reading nested arrays takes several times as long.
  const lines = outers.map((ring) => Float64Array.from(ring.flatMap(([x = 0, y = 0]) => [x, y])))
  const boxes = Float64Array.from(lines.flatMap(toBox))
  let steps = 0

  function count(more: number): void {
    steps += more
    if (steps > MAX_STEPS) throw tooMany()
  }

  function contains(line: Float64Array, [x, y]: Point): number {
    count(CALL + line.length / 2)
    return isInside(line, x, y) ? 1 : 0
  }

  return (hole) => {
    const [first, second, third] = [middle(hole, 0), middle(hole, 1 / 3), middle(hole, 2 / 3)]
    const [minX, minY, maxX, maxY] = toBox(Float64Array.of(...[first, second, third].flat()))
    const found = { index: -1, points: 1, area: Infinity }
    count(BOX * lines.length)
    for (let box = 0; box < boxes.length; box += 4) {
      if (at(boxes, box) > maxX || at(boxes, box + 2) < minX) continue
      if (at(boxes, box + 1) > maxY || at(boxes, box + 3) < minY) continue
      const index = box / 4
      const line = lines[index] as Float64Array
      // A point can be on the line of the outer ring, because holes may touch it: the majority decides.
      let points = contains(line, first) + contains(line, second)
      if (points === 1) points += contains(line, third)
      const area = (at(boxes, box + 2) - at(boxes, box)) * (at(boxes, box + 3) - at(boxes, box + 1))
      if (points > found.points || (points === found.points && area < found.area))
        Object.assign(found, { index, points, area })
    }
    return found.index
  }
}

const at = (list: Float64Array, index: number): number => list[index] as number

/** The middle of an edge, which is less likely to touch another ring than a corner. */
function middle(ring: Ring, part: number): Point {
  const index = Math.floor((ring.length - 1) * part)
  const [x1 = 0, y1 = 0] = ring[index] ?? []
  const [x2 = 0, y2 = 0] = ring[index + 1] ?? []
  return [(x1 + x2) / 2, (y1 + y2) / 2]
}

/** Counts the edges on one side of a point: inside a ring, their number is odd. */
function isInside(line: Float64Array, x: number, y: number): boolean {
  let inside = false
  for (let index = 2; index < line.length; index += 2) {
    const y1 = at(line, index - 1)
    const y2 = at(line, index + 1)
    if (y1 > y === y2 > y) continue
    const x1 = at(line, index - 2)
    if (x < ((at(line, index) - x1) * (y - y1)) / (y2 - y1) + x1) inside = !inside
  }
  return inside
}

function isClockwise(ring: Ring): boolean {
  let total = 0
  let [previousX = 0, previousY = 0] = ring[0] ?? []
  for (const [x = 0, y = 0] of ring) {
    total += (x - previousX) * (y + previousY)
    previousX = x
    previousY = y
  }
  return total >= 0
}

/** The least x and y, and the greatest. */
function toBox(line: Float64Array): [number, number, number, number] {
  const box: [number, number, number, number] = [Infinity, Infinity, -Infinity, -Infinity]
  for (let index = 0; index < line.length; index += 2) {
    const [x, y] = [at(line, index), at(line, index + 1)]
    box[0] = Math.min(box[0], x)
    box[1] = Math.min(box[1], y)
    box[2] = Math.max(box[2], x)
    box[3] = Math.max(box[3], y)
  }
  return box
}

const tooMany = (): ChangesError =>
  new ChangesError('changes_malformed', {
    message: 'the geometry of a feature has too many rings and positions to sort its holes',
    hint: 'Split the feature, or simplify its geometry.',
  })

import type { Geometry } from '../model.ts'

/** A rectangle that contains geometries. */
export interface Extent {
  xmin: number
  ymin: number
  xmax: number
  ymax: number
}

/** @returns undefined if there are no coordinates */
export function extentOf(geometries: readonly Geometry[]): Extent | undefined {
  let [xmin, ymin, xmax, ymax] = [Infinity, Infinity, -Infinity, -Infinity]
  for (const geometry of geometries) {
    for (const [x, y] of coordinatesOf(geometry)) {
      ;[xmin, ymin] = [Math.min(xmin, x), Math.min(ymin, y)]
      ;[xmax, ymax] = [Math.max(xmax, x), Math.max(ymax, y)]
    }
  }
  return xmin === Infinity ? undefined : { xmin, ymin, xmax, ymax }
}

function* coordinatesOf({ x, y, points, paths, rings }: Geometry): Generator<[number, number]> {
  if (typeof x === 'number' && typeof y === 'number') yield [x, y]
  for (const part of [points, paths, rings]) yield* coordinatesIn(part)
}

/** Finds coordinates in nested arrays. */
function* coordinatesIn(value: unknown): Generator<[number, number]> {
  if (!Array.isArray(value)) return
  const [x, y] = value
  if (typeof x === 'number' && typeof y === 'number') yield [x, y]
  else for (const item of value) yield* coordinatesIn(item)
}

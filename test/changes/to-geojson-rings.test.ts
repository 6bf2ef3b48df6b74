import { geojsonToArcGIS } from '@terraformer/arcgis'
import { toGeoJSON } from 'geohook/changes'
import { describe, expect, it } from 'vitest'

describe('toGeoJSON of rings', () => {
  const convert = (rings: number[][][]) => toGeoJSON({ attributes: {}, geometry: { rings } }).geometry
  const outer = (x: number, y: number, size: number) => square(x, y, size).reverse()

  it('puts each hole into the smallest ring around it', () => {
    const land = [square(0, 0, 20), square(2, 2, 10).reverse(), square(14, 14, 4).reverse()]
    const island = [square(4, 4, 6), square(6, 6, 1).reverse()]
    for (const polygons of [
      [land, island],
      [island, land],
    ]) {
      const { rings } = geojsonToArcGIS({ type: 'MultiPolygon', coordinates: polygons } as never) as never
      const { coordinates } = convert(rings) as { coordinates: number[][][][] }
      expect(coordinates).toHaveLength(2)
      for (const polygon of polygons) expect(coordinates.map(sorted)).toContainEqual(sorted(polygon))
    }
  })

  it('keeps a hole that touches its ring', () => {
    const triangle = [
      [0, 5],
      [4, 4],
      [4, 6],
      [0, 5],
    ]
    expect(convert([outer(0, 0, 10), triangle])).toMatchObject({
      type: 'Polygon',
      coordinates: { length: 2 },
    })
  })

  it('makes a hole without a ring a polygon, closes rings, and leaves out rings with two corners', () => {
    const open = outer(20, 0, 5).slice(0, -1)
    const line = [
      [0, 0],
      [1, 1],
      [0, 0],
    ]
    const coordinates = [[expect.arrayContaining(square(20, 0, 5))], [square(0, 0, 1)]]
    expect(convert([open, line, square(0, 0, 1)])).toEqual({ type: 'MultiPolygon', coordinates })
  })

  it('converts 1,600 rings, and throws changes_malformed for 2,000', () => {
    const rings = (count: number) =>
      Array.from({ length: count / 2 }, (_, index) => [
        outer(index * 10, 0, 5),
        square(index * 10 + 1, 1, 1),
      ]).flat()
    expect(convert(rings(1600))).toMatchObject({ type: 'MultiPolygon', coordinates: { length: 800 } })
    expect(() => convert(rings(2_000))).toThrow(
      expect.objectContaining({ code: 'changes_malformed', hint: expect.stringContaining('Simplify') }),
    )
  })

  it('throws changes_malformed for a ring with 100,000 positions around 400 holes', () => {
    const many = outer(0, 0, 10).flatMap((position) => Array.from({ length: 20_000 }, () => position))
    const holes = Array.from({ length: 400 }, (_, index) => square(5 + index / 1000, 5, 1))
    expect(() => convert([many, ...holes])).toThrow(expect.objectContaining({ code: 'changes_malformed' }))
  })
})

/** A square whose positions are counterclockwise. */
const square = (x: number, y: number, size: number): number[][] => [
  [x + size, y + size],
  [x, y + size],
  [x, y],
  [x + size, y],
  [x + size, y + size],
]

const sorted = (polygon: number[][][]): string[] => polygon.map((ring) => JSON.stringify(ring)).sort()

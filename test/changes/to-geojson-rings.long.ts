import { arcgisToGeoJSON, geojsonToArcGIS } from '@terraformer/arcgis'
import fc from 'fast-check'
import { toGeoJson } from 'geohook/changes'
import { describe, expect, it } from 'vitest'

describe('toGeoJson of rings', () => {
  const convert = (rings: number[][][]) => toGeoJson({ attributes: {}, geometry: { rings } }).geometry
  const outer = (x: number, y: number, size: number) => square(x, y, size).reverse()
  /** The ring to which the touching hole belongs, as GeoJSON. */
  const NEAREST = JSON.stringify(square(0, 0, 10))

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

  // The shapes of a raster: cells that meet only in a corner belong to different polygons.
  it.each([
    ['an island in it', [outer(0, 0, 10)], outer(2, 4, 1)],
    ['a neighbour of its ring', [outer(0, 0, 10)], outer(-6, 5, 6)],
    ['the ring around its ring', [outer(-20, -20, 50), square(-10, -10, 30), outer(0, 0, 10)], undefined],
  ])('keeps a hole that touches its ring and %s', (_, rings, other) => {
    const hole = [
      [0, 5],
      [2, 3],
      [4, 5],
      [2, 7],
      [0, 5],
    ]
    const given = [...rings, hole, ...(other ? [other] : [])]
    for (const list of [given, given.toReversed()]) {
      const { coordinates } = convert(list) as { coordinates: number[][][][] }
      const [, ...holes] = coordinates.find((polygon) => sorted(polygon).includes(NEAREST)) ?? []
      expect(holes).toEqual([hole.toReversed()])
    }
  })

  it('converts rings that do not touch like the library, apart from their order', () => {
    const depths = fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 9 })
    fc.assert(
      fc.property(depths, fc.infiniteStream(fc.nat()), (counts, order) => {
        const nested = counts.flatMap((count, cell) =>
          Array.from({ length: count }, (_, i) =>
            (i % 2 ? square : outer)(cell * 30 + i, i, 20 + cell - 2 * i),
          ),
        )
        const rings = nested
          .map((ring) => ({ ring, key: order.next().value as number }))
          .sort((a, b) => a.key - b.key)
          .map(({ ring }) => ring)
        const sorted = rings.toSorted((a, b) => Math.abs(areaOf(b)) - Math.abs(areaOf(a)))
        expect(convert(rings)).toEqual(arcgisToGeoJSON({ rings: sorted } as never))
      }),
      { numRuns: 500 },
    )
  })

  it('converts 4,000 rings and holes', () => {
    const rings = Array.from({ length: 2000 }, (_, i) => [
      outer(i * 10, 0, 5),
      square(i * 10 + 1, 1, 1),
    ]).flat()
    expect(convert(rings)).toMatchObject({ type: 'MultiPolygon', coordinates: { length: 2000 } })
  })

  const HUGE = 1e308
  /** Fills 1 MB of JSON with rings. */
  const fill = (ringOf: (index: number) => number[][]): number[][][] => {
    const rings: number[][][] = []
    for (let bytes = 0; bytes < 1e6; bytes += JSON.stringify(rings.at(-1)).length)
      rings.push(ringOf(rings.length))
    return rings
  }
  const circle = (radius: number, positions: number): number[][] =>
    Array.from({ length: positions }, (_, index) => {
      const angle = (2 * Math.PI * index) / (positions - 1)
      return [radius * Math.cos(angle), radius * Math.sin(angle)].map((value) => Number(value.toFixed(2)))
    })
  const triangle = (x: number, y: number): number[][] => [
    [x, y],
    [x + 1, y],
    [x, y + 1],
    [x, y],
  ]

  it.each<[string, number[][][]]>([
    ['holes without a ring', fill((index) => square((index % 1000) * 2, Math.floor(index / 1000) * 2, 1))],
    ['rings without an area', fill((index) => [...triangle(index % 9, 0).slice(0, 2), [0, 0], [0, 0]])],
    [
      'coordinates of 1e308',
      fill(() => square(-1, -1, 2).map((position) => position.map((value) => value * HUGE))),
    ],
    ['a ring apart from its holes', [outer(-9, 0, 1), ...fill((index) => triangle(index % 1000, 0))]],
    ['rings and holes', fill((index) => (index % 2 ? triangle(0, 0) : triangle(0, 0).reverse()))],
    ['two long holes that do not touch', [circle(1000, 30_000), circle(999, 30_000)]],
    ['a long hole in a long ring', [circle(1000, 30_000).reverse(), circle(999, 30_000)]],
    [
      'holes in a long ring',
      [circle(1000, 30_000).reverse(), ...fill((i) => triangle(i % 500, 0)).slice(0, 9000)],
    ],
    ['nested rings', fill((i) => (i % 2 ? square(i, i, 9e4 - 2 * i) : outer(i, i, 9e4 - 2 * i)))],
    ['rings with two corners', fill(() => triangle(0, 0).slice(0, 2))],
    ['one ring', [circle(1000, 60_000)]],
  ])('converts or refuses 1 MB of %s in less than 40 times the time of its JSON', (_, rings) => {
    const cpuTime = (action: () => void): number => {
      const before = process.cpuUsage()
      action()
      return process.cpuUsage(before).user
    }
    const throughJson = (): void => void JSON.parse(JSON.stringify(rings))
    const throughConvert = (): void => {
      try {
        convert(rings)
      } catch (error) {
        expect(error).toMatchObject({ code: 'changes_malformed', hint: expect.stringContaining('Simplify') })
      }
    }
    // Interleaved, the fastest of each: other work on the machine slows single runs down.
    const fastest = { json: Number.POSITIVE_INFINITY, convert: Number.POSITIVE_INFINITY }
    for (let run = 0; run < 5; run++) {
      fastest.json = Math.min(fastest.json, cpuTime(throughJson))
      fastest.convert = Math.min(fastest.convert, cpuTime(throughConvert))
    }
    expect(fastest.convert / fastest.json).toBeLessThan(40)
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

/** Twice the area of a ring, as the library computes it. */
const areaOf = (ring: number[][]): number =>
  ring.reduce((sum, [x = 0, y = 0], index) => {
    const [nextX = 0, nextY = 0] = ring[index + 1] ?? [x, y]
    return sum + (nextX - x) * (nextY + y)
  }, 0)

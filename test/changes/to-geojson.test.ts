import { type Geometry, toGeoJson } from 'geohook/changes'
import { describe, expect, it, vi } from 'vitest'

describe('toGeoJson', () => {
  it.each([
    [
      { x: 1, y: 2 },
      { type: 'Point', coordinates: [1, 2] },
    ],
    [
      {
        paths: [
          [
            [1, 2],
            [3, 4],
          ],
        ],
      },
      {
        type: 'LineString',
        coordinates: [
          [1, 2],
          [3, 4],
        ],
      },
    ],
    [
      {
        rings: [
          [
            [0, 0],
            [0, 1],
            [1, 1],
            [0, 0],
          ],
        ],
      },
      {
        type: 'Polygon',
        coordinates: [
          [
            [0, 0],
            [1, 1],
            [0, 1],
            [0, 0],
          ],
        ],
      },
    ],
    [undefined, null],
  ])('converts the geometry %j', (geometry, expected) => {
    const attributes = { objectid: 7, name: 'one' }
    expect(toGeoJson({ attributes, ...(geometry ? { geometry } : {}) })).toEqual({
      type: 'Feature',
      id: 7,
      geometry: expected,
      properties: attributes,
    })
  })

  it.each<[string, Geometry, object]>([
    [
      'hasM',
      {
        hasM: true,
        paths: [
          [
            [1, 2, 99],
            [3, 4, 98],
          ],
        ],
      },
      [
        [1, 2],
        [3, 4],
      ],
    ],
    [
      'hasZ and hasM',
      {
        hasZ: true,
        hasM: true,
        paths: [
          [
            [1, 2, 5, 99],
            [3, 4, 6, 98],
          ],
        ],
      },
      [
        [1, 2, 5],
        [3, 4, 6],
      ],
    ],
    [
      'hasZ',
      {
        hasZ: true,
        points: [
          [1, 2, 5],
          [3, 4, null],
        ],
      },
      [
        [1, 2, 5],
        [3, 4],
      ],
    ],
    ['a point with a measure', { hasM: true, x: 1, y: 2, m: 99 }, [1, 2]],
    ['a point with z and a measure', { x: 1, y: 2, z: 5, m: 99 }, [1, 2, 5]],
  ])('keeps altitudes and leaves out measures: %s', (_, geometry, coordinates) => {
    expect(toGeoJson({ attributes: {}, geometry }).geometry).toMatchObject({ coordinates })
  })

  it.each<[string, Geometry]>([
    [
      'curveRings',
      {
        curveRings: [
          [
            [0, 0],
            {
              c: [
                [3, 3],
                [1, 4],
              ],
            },
            [0, 0],
          ],
        ],
      },
    ],
    [
      'curvePaths',
      {
        curvePaths: [
          [
            [0, 0],
            {
              c: [
                [3, 3],
                [1, 4],
              ],
            },
          ],
        ],
      },
    ],
    [
      'text as a coordinate',
      {
        paths: [
          [
            ['a', 'b'],
            [1, 2],
          ],
        ],
      },
    ],
    ['a position with one number', { points: [[1]] }],
    ['text as x', { x: 'a', y: 'b' }],
    ['rings of numbers', { rings: [[0, 1]] }],
    ['rings of null', { rings: [null] }],
    ['paths that are not a list', { paths: 5 }],
    ['a number', 5 as never],
  ])('throws changes_malformed with a hint for %s', (_, geometry) => {
    expect(() => toGeoJson({ attributes: {}, geometry })).toThrow(
      expect.objectContaining({ code: 'changes_malformed', hint: expect.stringMatching(/geometry|curves/) }),
    )
  })

  it.each([{ x: null, y: null }, { x: 'NaN', y: 'NaN' }, {}])('converts %j to null', (geometry) => {
    expect(toGeoJson({ attributes: {}, geometry }).geometry).toBeNull()
  })

  it('converts an envelope', () => {
    const { geometry } = toGeoJson({ attributes: {}, geometry: { xmin: 0, ymin: 1, xmax: 2, ymax: 3 } })
    expect(JSON.stringify(geometry?.coordinates)).toBe('[[[2,3],[0,3],[0,1],[2,1],[2,3]]]')
  })

  it.each([
    [{ fid: 9, OBJECTID: 1 }, 1],
    [{ fid: 9, objectid: null }, 9],
    [{ name: 'one' }, undefined],
  ])('finds the id of %j', (attributes, id) => {
    expect(toGeoJson({ attributes }).id).toBe(id)
  })

  it('writes nothing to the console for another spatial reference', () => {
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
    toGeoJson({ attributes: {}, geometry: { x: 1, y: 2, spatialReference: { wkid: 102100 } } })
    expect(warn).not.toHaveBeenCalled()
    warn.mockRestore()
  })
})

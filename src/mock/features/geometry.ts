import { EditError } from './edit-types.ts'
import type { Geometry, GeometryType, Layer } from './model.ts'

/** Web Mercator has several numbers. */
const SAME_REFERENCE = new Map([
  [3857, 102_100],
  [102_113, 102_100],
  [900_913, 102_100],
])
const canonical = (wkid: unknown): unknown => SAME_REFERENCE.get(wkid as number) ?? wkid

export const isSameReference = (one: unknown, other: unknown): boolean => canonical(one) === canonical(other)

/** The member with the coordinates of each type, and the depth of its arrays. */
export const COORDINATES: Readonly<Record<GeometryType, readonly [name: string, depth: number]>> = {
  esriGeometryPoint: ['x', 0],
  esriGeometryMultipoint: ['points', 1],
  esriGeometryPolyline: ['paths', 2],
  esriGeometryPolygon: ['rings', 2],
}

/**
 * Checks the geometry of a row, and keeps its coordinates, `hasZ` and `hasM`.
 *
 * @returns undefined for null and for an empty geometry
 */
export function readGeometry(
  { geometryType, spatialReference: own }: Pick<Layer, 'geometryType' | 'spatialReference'>,
  value: unknown,
): Geometry | undefined {
  if (value === null || value === undefined) return undefined
  if (geometryType === undefined) throw cannotSet('A table has no geometry.')
  if (typeof value !== 'object' || Array.isArray(value)) throw cannotSet('It must be an object.')
  const { spatialReference, ...geometry } = value as Record<string, unknown>
  const { wkid, latestWkid } = (spatialReference ?? {}) as Record<string, unknown>
  const given = [latestWkid, wkid].filter((id) => id !== undefined && id !== null)
  if (given.length > 0 && !given.some((id) => isSameReference(id, own.wkid)))
    throw cannotSet(`The layer has the spatial reference ${own.wkid}, and the mock does not project.`)
  if (geometryType === 'esriGeometryPoint') return readPoint(geometry)
  const [name, depth] = COORDINATES[geometryType]
  const coordinates = geometry[name]
  if (!isNested(coordinates, depth)) throw cannotSet(`It must have ${name} of coordinates.`)
  return coordinates.length === 0 ? undefined : { [name]: coordinates, ...readFlags(geometry) }
}

const FLAGS = ['hasZ', 'hasM'] as const

const readFlags = (geometry: Record<string, unknown>): Geometry =>
  Object.fromEntries(
    FLAGS.flatMap((name) => (typeof geometry[name] === 'boolean' ? [[name, geometry[name]]] : [])),
  )

function readPoint(geometry: Record<string, unknown>): Geometry | undefined {
  const { x, y, z, m } = geometry
  if (x === null || x === 'NaN') return undefined // an empty point
  if (!Number.isFinite(x) || !Number.isFinite(y)) throw cannotSet('It must have the numbers x and y.')
  return { x, y, ...(Number.isFinite(z) ? { z } : {}), ...(Number.isFinite(m) ? { m } : {}) }
}

function isNested(value: unknown, depth: number): value is unknown[] {
  if (!Array.isArray(value)) return false
  if (depth > 0) return value.every((item) => isNested(item, depth - 1))
  return (
    value.length >= 2 &&
    value.length <= 4 &&
    value.every((number) => number === null || Number.isFinite(number))
  )
}

const cannotSet = (reason: string): EditError => new EditError(1015, `Geometry could not be set. ${reason}`)

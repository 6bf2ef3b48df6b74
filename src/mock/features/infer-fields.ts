import { toField } from './default-layer.ts'
import { MAX_TEXT } from './limits.ts'
import type { Field, FieldType, GeometryType } from './model.ts'

/** Converts values that fields cannot have: true and false to 1 and 0, objects and arrays to JSON. */
export function toFieldValue(value: unknown): unknown {
  if (typeof value === 'boolean') return value ? 1 : 0
  if (typeof value === 'object' && value !== null) return JSON.stringify(value)
  return value ?? null
}

/** Names of fields that every layer has; their types are known. */
const SYSTEM = new Set(['objectid', 'globalid', 'creationdate', 'creator', 'editdate', 'editor'])

/** Infers the fields from the attributes of all features, in the order in which the names occur. */
export function inferFields(rows: readonly Readonly<Record<string, unknown>>[]): Field[] {
  const found = new Map<string, { type?: FieldType; length: number }>()
  for (const row of rows) {
    for (const [name, given] of Object.entries(row)) {
      if (SYSTEM.has(name.toLowerCase())) continue
      const value = toFieldValue(given)
      const field = found.get(name) ?? { length: 256 }
      found.set(name, field)
      if (value === null) continue
      field.type = widen(field.type, typeOf(value))
      field.length = Math.max(field.length, String(value).length)
    }
  }
  return [...found].map(([name, { type = 'esriFieldTypeString', length }]) =>
    type === 'esriFieldTypeString'
      ? toField(name, type, { length: Math.min(length, MAX_TEXT) })
      : toField(name, type),
  )
}

const MAX_INTEGER = 2_147_483_647

function typeOf(value: unknown): FieldType {
  if (typeof value !== 'number') return 'esriFieldTypeString'
  return Number.isInteger(value) && Math.abs(value) <= MAX_INTEGER
    ? 'esriFieldTypeInteger'
    : 'esriFieldTypeDouble'
}

/** The type that has the values of both types. */
function widen(one: FieldType | undefined, other: FieldType): FieldType {
  if (one === undefined || one === other) return other
  const isText = one === 'esriFieldTypeString' || other === 'esriFieldTypeString'
  return isText ? 'esriFieldTypeString' : 'esriFieldTypeDouble'
}

const COORDINATES: readonly [name: string, type: GeometryType][] = [
  ['x', 'esriGeometryPoint'],
  ['points', 'esriGeometryMultipoint'],
  ['paths', 'esriGeometryPolyline'],
  ['rings', 'esriGeometryPolygon'],
]

/** The type of the first geometry; undefined without geometries. */
export function inferGeometryType(geometries: readonly unknown[]): GeometryType | undefined {
  const first = geometries.find((geometry) => typeof geometry === 'object' && geometry !== null)
  return COORDINATES.find(([name]) => first !== undefined && Object.hasOwn(first as object, name))?.[1]
}

import { geojsonToArcGIS } from '@terraformer/arcgis'
import { z } from 'zod'
import { configInvalid } from '../../errors.ts'
import { isObject } from '../../shared/json.ts'
import { quote } from '../http/errors.ts'
import { check } from '../schemas.ts'
import type { ServiceSeed } from '../state/services.ts'
import { ANYONE } from '../state/webhooks.ts'
import { createFeature, createGlobalId } from './apply-rows.ts'
import { EditError } from './edit-types.ts'
import { COORDINATES, readGeometry } from './geometry.ts'
import { type LayerData, readValue, toLayerData } from './layer-data.ts'
import {
  type Feature,
  type FeatureSeed,
  FIELD_TYPES,
  type Field,
  type FieldSeed,
  type FieldType,
  GEOMETRY_TYPES,
  type GeoJsonCollection,
  type GeometryType,
  type Layer,
  type LayerSeed,
  MAX_FEATURES,
  MAX_FIELDS,
  MAX_LAYERS,
  MAX_TEXT,
  type SystemFields,
  toGlobalId,
  type Value,
} from './model.ts'

const toField = (name: string, type: FieldType, more: Partial<Field> = {}): Field => ({
  name,
  type,
  alias: name,
  nullable: true,
  editable: true,
  ...more,
})

const SYSTEM_FIELDS: readonly [
  key: keyof SystemFields,
  name: string,
  type: FieldType,
  more: Partial<Field>,
][] = [
  ['objectId', 'OBJECTID', 'esriFieldTypeOID', { nullable: false }],
  ['globalId', 'GlobalID', 'esriFieldTypeGlobalID', { length: 38, nullable: false }],
  ['creationDate', 'CreationDate', 'esriFieldTypeDate', {}],
  ['creator', 'Creator', 'esriFieldTypeString', { length: 256 }],
  ['editDate', 'EditDate', 'esriFieldTypeDate', {}],
  ['editor', 'Editor', 'esriFieldTypeString', { length: 256 }],
]

/**
 * Adds the fields that the service sets: the ids first, the editor fields last. A field of the type of an id, or with the
 * name of an editor field, is used in place of a new one.
 */
function withSystemFields(given: readonly Field[]): Pick<Layer, 'fields' | 'systemFields'> {
  const fields = [...given]
  const names: Partial<Record<keyof SystemFields, string>> = {}
  for (const [index, [key, name, type, more]] of SYSTEM_FIELDS.entries()) {
    const isId = index < 2
    const at = fields.findIndex((field) =>
      isId ? field.type === type : field.name.toLowerCase() === name.toLowerCase() && field.type === type,
    )
    const field = { ...toField(name, type, more), ...fields[at], editable: false }
    if (at >= 0) fields[at] = field
    else if (isId) fields.splice(index, 0, field)
    else fields.push(field)
    names[key] = field.name
  }
  return { fields, systemFields: names as SystemFields }
}

/** The only layer of a service without layers in its seed. */
export const defaultLayer = (name: string): Omit<Layer, 'features'> => ({
  id: 0,
  name,
  geometryType: 'esriGeometryPoint',
  ...withSystemFields([
    toField('name', 'esriFieldTypeString', { length: 256 }),
    toField('notes', 'esriFieldTypeString', { length: 4000 }),
  ]),
  hasAttachments: true,
  spatialReference: { wkid: 4326 },
})

const GEOMETRIES: readonly unknown[] = [
  'Point',
  'MultiPoint',
  'LineString',
  'MultiLineString',
  'Polygon',
  'MultiPolygon',
]

/** Converts GeoJSON to Esri JSON. A whole number as id becomes the object id. @throws {WebhookError} `config_invalid` */
const toSeeds = ({ features }: GeoJsonCollection, name: string, objectIdField = 'OBJECTID'): FeatureSeed[] =>
  Array.from(features, ({ id, properties, geometry }, index) => {
    const attributes = { ...(Number.isSafeInteger(id) ? { [objectIdField]: id } : {}), ...properties }
    const values = Object.entries(attributes).map(([name, value]) => [name, toFieldValue(value)])
    const converted = toEsriGeometry(geometry, `${name}.features.${index}.geometry`)
    return { attributes: Object.fromEntries(values), ...(converted && { geometry: converted }) }
  })

function toEsriGeometry(geometry: object | null | undefined, name: string): object | undefined {
  if (geometry === null || geometry === undefined) return undefined
  if (!GEOMETRIES.includes((geometry as { type?: unknown }).type))
    throw configInvalid(`${name}: the type must be ${GEOMETRIES.join(', ')}`)
  try {
    return geojsonToArcGIS(geometry as Parameters<typeof geojsonToArcGIS>[0])
  } catch {
    throw configInvalid(`${name}: the coordinates are not valid`)
  }
}

/** Converts values that fields cannot have: true and false to 1 and 0, objects and arrays to JSON. */
function toFieldValue(value: unknown): unknown {
  if (typeof value === 'boolean') return value ? 1 : 0
  if (typeof value === 'object' && value !== null) return JSON.stringify(value)
  return value ?? null
}

/** Names of fields that every layer has; their types are known. */
const SYSTEM_NAMES = new Set(SYSTEM_FIELDS.map(([, name]) => name.toLowerCase()))

/** Infers the fields from the attributes of all features, in the order in which the names occur. */
function inferFields(rows: readonly Readonly<Record<string, unknown>>[]): Field[] {
  const found = new Map<string, { type?: FieldType; length: number }>()
  for (const row of rows) {
    for (const [name, given] of Object.entries(row)) {
      if (SYSTEM_NAMES.has(name.toLowerCase())) continue
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

/** The type of the first geometry; undefined without geometries. */
function inferGeometryType(geometries: readonly unknown[]): GeometryType | undefined {
  const first = geometries.find(isObject)
  return first && GEOMETRY_TYPES.find((type) => Object.hasOwn(first, COORDINATES[type][0]))
}

const fieldName = z
  .string()
  .max(128)
  .regex(/^(?!__proto__$)[^\p{Cc}"]+$/u, 'must not be empty or contain control characters or quotes')
const fieldSchema = z.strictObject({
  name: fieldName,
  type: z.enum(FIELD_TYPES),
  alias: z.string().max(256).optional(),
  length: z.int().min(1).max(MAX_TEXT).optional(),
  nullable: z.boolean().optional(),
})
const attributes = z.record(z.string(), z.unknown())
const featureSchema = z.object({ attributes, geometry: z.looseObject({}).nullish() })
const collectionSchema: z.ZodObject = z.looseObject({
  type: z.literal('FeatureCollection'),
  features: z
    .array(
      z.looseObject({
        type: z.literal('Feature'),
        properties: attributes.nullish(),
        geometry: z.looseObject({}).nullish(),
      }),
    )
    .max(MAX_FEATURES),
})
const layerSchema = z.strictObject({
  id: z.int().min(0).max(1_000_000).optional(),
  name: z.string().min(1).max(256),
  geometryType: z.enum(GEOMETRY_TYPES).optional(),
  fields: z.array(fieldSchema).max(MAX_FIELDS).optional(),
  features: z.union([z.array(featureSchema).max(MAX_FEATURES), collectionSchema]).optional(),
  hasAttachments: z.boolean().optional(),
  spatialReference: z.strictObject({ wkid: z.int().min(1).max(999_999) }).optional(),
})

/** @throws {WebhookError} `config_invalid` */
export function toLayers({ serviceName, serviceType, layers = [] }: ServiceSeed, now: number): LayerData[] {
  const name = `layers of ${serviceName}`
  if (serviceType !== 'FeatureServer') throw configInvalid(`${name}: only a feature service has layers`)
  if (layers.length === 0 || layers.length > MAX_LAYERS)
    throw configInvalid(`${name}: there must be 1 to ${MAX_LAYERS} layers`)
  const all = Array.from(layers, (layer, index) => toLayer(layer, index, `${name}.${index}`, now))
  if (new Set(all.map(({ id }) => id)).size < all.length)
    throw configInvalid(`${name}: two layers have the same id`)
  return all
}

function toLayer(given: LayerSeed, index: number, name: string, now: number): LayerData {
  const seed = check<LayerSeed>(layerSchema, given, name)
  const { features = [], spatialReference = { wkid: 4326 } } = seed
  const isGeoJson = 'type' in features
  if (isGeoJson && spatialReference.wkid !== 4326)
    throw configInvalid(`${name}: GeoJSON needs the spatial reference 4326`)
  const rows = isGeoJson ? toSeeds(features, name) : features
  const layer: Omit<Layer, 'features'> = {
    id: seed.id ?? index,
    name: seed.name,
    geometryType: seed.geometryType ?? inferGeometryType(rows.map(({ geometry }) => geometry)),
    ...withSystemFields(seed.fields?.map(toSeededField) ?? inferFields(rows.map((row) => row.attributes))),
    hasAttachments: seed.hasAttachments ?? true,
    spatialReference,
  }
  requireUniqueNames(layer, name)
  return toLayerData(layer, toFeatures(layer, rows, name, now))
}

const toSeededField = ({ name, type, alias = name, length = 256, nullable = true }: FieldSeed): Field =>
  toField(name, type, { alias, nullable, ...(type === 'esriFieldTypeString' ? { length } : {}) })

function requireUniqueNames({ fields }: Pick<Layer, 'fields'>, name: string): void {
  for (const field of fields) check(fieldName, field.name, `${name}.fields`)
  if (new Set(fields.map((field) => field.name.toLowerCase())).size < fields.length)
    throw configInvalid(
      `${name}: two fields have the same name, or one has the name of a field of the service`,
    )
}

function toFeatures(
  layer: Omit<Layer, 'features'>,
  rows: readonly FeatureSeed[],
  name: string,
  now: number,
): Feature[] {
  const { objectId, globalId } = layer.systemFields
  const values = rows.map((row, index) => readRow(layer, row, `${name}.features.${index}`))
  const used = new Set<Value | undefined>(values.map(({ attributes }) => attributes[objectId]))
  let next = 1
  const features = values.map(({ attributes, geometry }): Feature => {
    while (attributes[objectId] === undefined && used.has(next)) next += 1
    const ids = {
      objectId: (attributes[objectId] ?? next++) as number,
      globalId: toGlobalId(attributes[globalId]) ?? createGlobalId(),
    }
    return createFeature(layer, ids, attributes, geometry, { now, username: ANYONE })
  })
  for (const key of ['objectId', 'globalId'] as const)
    if (new Set(features.map((feature) => feature[key])).size < features.length)
      throw configInvalid(`${name}: two features have the same ${key}`)
  return features
}

/** Reads a row, including the values of fields that only the service sets later. */
function readRow(
  layer: Omit<Layer, 'features'>,
  row: FeatureSeed,
  name: string,
): Pick<Feature, 'attributes' | 'geometry'> {
  const byName = new Map(layer.fields.map((field) => [field.name.toLowerCase(), field]))
  try {
    const entries = Object.entries(row.attributes).map(([key, given]) => {
      const field = byName.get(key.toLowerCase())
      if (!field) throw new EditError(1000, `the layer has no field ${quote(key)}`)
      const value = toFieldValue(given)
      if (field.name === layer.systemFields.objectId && !(Number(value) >= 0))
        throw new EditError(1016, `${field.name} must not be negative`)
      const isNumberAsText = field.type === 'esriFieldTypeString' && typeof value === 'number'
      return [field.name, readValue(field, isNumberAsText ? String(value) : value)]
    })
    return { attributes: Object.fromEntries(entries), geometry: readGeometry(layer, row.geometry) }
  } catch (error) {
    if (error instanceof EditError) throw configInvalid(`${name}: ${error.message}`)
    throw error
  }
}

/**
 * Converts GeoJSON to Esri JSON. True and false become 1 and 0, and objects and arrays become JSON.
 *
 * @param objectIdField attribute for ids that are whole numbers. Default `'OBJECTID'`
 * @throws {WebhookError} `config_invalid` if the value is not a Feature or FeatureCollection, or a geometry is invalid
 * @example
 * ```ts
 * import { createMockService, fromGeoJson } from 'geohook/mock'
 *
 * const service = createMockService({ services: [{ serviceName: 'Parcels', serviceType: 'FeatureServer' }] })
 * const geometry = { type: 'Point', coordinates: [7.1, 51.4] }
 * const adds = fromGeoJson({ type: 'Feature', properties: { name: 'Oak' }, geometry })
 * await service.features('Parcels').applyEdits({ adds }).attempts
 * ```
 */
export function fromGeoJson(
  geoJson: GeoJsonCollection | GeoJsonCollection['features'][number],
  objectIdField = 'OBJECTID',
): FeatureSeed[] {
  const isFeature = (geoJson as { type?: unknown } | null)?.type === 'Feature'
  const given = isFeature ? { type: 'FeatureCollection', features: [geoJson] } : geoJson
  return toSeeds(check<GeoJsonCollection>(collectionSchema, given, 'GeoJSON'), 'GeoJSON', objectIdField)
}

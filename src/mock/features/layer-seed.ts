import { z } from 'zod'
import { configInvalid } from '../../errors.ts'
import { check } from '../schemas.ts'
import type { ServiceSeed } from '../state/services.ts'
import { ANYONE } from '../state/webhook.ts'
import { createGlobalId, withSystemValues } from './apply-rows.ts'
import { toField, withSystemFields } from './default-layer.ts'
import { EditError } from './edits.ts'
import { fromGeoJson } from './geojson.ts'
import { readGeometry } from './geometry.ts'
import { inferFields, inferGeometryType, toFieldValue } from './infer-fields.ts'
import { type LayerData, toLayerData } from './layer-data.ts'
import { MAX_FEATURES, MAX_FIELDS, MAX_LAYERS, MAX_TEXT } from './limits.ts'
import { type Feature, FIELD_TYPES, GEOMETRY_TYPES, type Layer, toGlobalId, type Value } from './model.ts'
import type { FeatureSeed, FieldSeed, LayerSeed } from './seed-types.ts'
import { readValue } from './values.ts'

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
/** A GeoJSON FeatureCollection. */
export const collectionSchema: z.ZodObject = z.looseObject({
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
  const rows = isGeoJson ? fromGeoJson(features, name) : features
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

const toSeededField = ({
  name,
  type,
  alias = name,
  length,
  nullable = true,
}: FieldSeed): Layer['fields'][number] =>
  toField(name, type, {
    alias,
    nullable,
    ...(type === 'esriFieldTypeString' ? { length: length ?? 256 } : {}),
  })

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
  const { creationDate, creator, editDate, editor, objectId, globalId } = layer.systemFields
  const defaults = { [creationDate]: now, [creator]: ANYONE, [editDate]: now, [editor]: ANYONE }
  const values = rows.map((row, index) => readRow(layer, row, `${name}.features.${index}`))
  const used = new Set<Value | undefined>(values.map(({ attributes }) => attributes[objectId]))
  let next = 1
  const features = values.map(({ attributes, geometry }): Feature => {
    while (attributes[objectId] === undefined && used.has(next)) next += 1
    const ids = {
      objectId: (attributes[objectId] ?? next++) as number,
      globalId: toGlobalId(attributes[globalId]) ?? createGlobalId(),
    }
    const all = withSystemValues(layer, ids, { ...defaults, ...attributes })
    return { ...ids, attributes: all, geometry, attachments: new Map() }
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
      if (!field) throw new EditError(1000, `the layer has no field ${JSON.stringify(key.slice(0, 64))}`)
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

import { configInvalid } from '../../../errors.ts'
import type { Field as FormField, Values } from '../../../inspector/source.ts'
import type { FeatureRow } from '../../feature-service.ts'
import type { Feature, Field, Layer, Value } from '../../features/model.ts'

/** A form has at most 100 fields. */
const MAX_SHOWN = 90
/** A larger geometry is not shown, and stays unchanged. */
const MAX_GEOMETRY = 64 * 1024
/** Texts of longer fields get several lines. */
const MAX_LINE = 256

const EXAMPLES: Readonly<Record<string, string>> = {
  esriGeometryPoint: '{"x":7.1,"y":51.4}',
  esriGeometryMultipoint: '{"points":[[7.1,51.4],[7.2,51.4]]}',
  esriGeometryPolyline: '{"paths":[[[7.1,51.4],[7.2,51.5]]]}',
  esriGeometryPolygon: '{"rings":[[[7.1,51.4],[7.1,51.5],[7.2,51.5],[7.1,51.4]]]}',
}

const HINTS: Readonly<Record<string, string>> = {
  esriFieldTypeDate: 'A time like 2026-01-02T03:04:05Z.',
  esriFieldTypeGUID: 'A UUID.',
}

const editableFields = ({ fields }: Layer): Field[] =>
  fields.filter(({ editable }) => editable).slice(0, MAX_SHOWN)

/** Distinguishes attributes from other values of the form. */
const nameOf = ({ name }: Field): string => `attribute.${name}`

const isNumber = ({ type }: Field): boolean => /(Integer|Single|Double)$/.test(type)

/** The fields of the form for a feature; without a feature, those for a new one. */
export function featureFields(layer: Layer, feature?: Feature): FormField[] {
  const attributes = editableFields(layer).map((field): FormField => {
    const { name, alias, length = 0, type, nullable } = field
    return {
      name: nameOf(field),
      label: alias || name,
      kind: isNumber(field) ? 'number' : length > MAX_LINE ? 'multiline' : 'text',
      value: toText(field, feature?.attributes[name]),
      hint: HINTS[type],
      isRequired: !nullable && type !== 'esriFieldTypeString',
    }
  })
  const geometry = geometryText(layer, feature)
  if (geometry === undefined) return attributes
  return [
    ...attributes,
    {
      name: 'geometry',
      label: 'Geometry',
      kind: 'multiline',
      value: geometry,
      hint: `Esri JSON in the spatial reference ${layer.spatialReference.wkid}. Leave empty for none.`,
    },
  ]
}

/** Undefined if the form has no field for the geometry. */
function geometryText({ geometryType }: Layer, feature?: Feature): string | undefined {
  if (geometryType === undefined) return undefined
  if (!feature) return EXAMPLES[geometryType]
  const text = feature.geometry ? JSON.stringify(feature.geometry) : ''
  return text.length > MAX_GEOMETRY ? undefined : text
}

function toText({ type }: Field, value: Value | undefined): string {
  if (value === null || value === undefined) return ''
  return type === 'esriFieldTypeDate' ? new Date(value).toISOString() : String(value)
}

/**
 * Reads the form: all attributes of a new feature that are not empty, or those of a feature that are changed.
 *
 * @throws {WebhookError} `config_invalid`
 */
export function readFeature(layer: Layer, values: Values, feature?: Feature): FeatureRow {
  const attributes: Record<string, Value> = {}
  for (const field of editableFields(layer)) {
    const submitted = values[nameOf(field)]
    const before = toText(field, feature?.attributes[field.name])
    if (submitted === undefined) continue
    // Browsers submit line breaks as CR LF.
    const text = withLineFeeds(submitted)
    if (text !== withLineFeeds(before) || (!feature && !field.nullable))
      attributes[field.name] = toValue(field, text)
  }
  const { objectId } = layer.systemFields
  return {
    attributes: feature ? { ...attributes, [objectId]: feature.objectId } : attributes,
    ...readGeometry(layer, values, feature),
  }
}

const withLineFeeds = (text: string): string => text.replaceAll('\r\n', '\n')

/** @throws {WebhookError} `config_invalid` */
function toValue(field: Field, text: string): Value {
  const { name, type, nullable } = field
  if (text === '') return nullable || type !== 'esriFieldTypeString' ? null : ''
  if (type === 'esriFieldTypeDate') {
    const time = Date.parse(text)
    if (Number.isNaN(time)) throw configInvalid(`${name} must be a time like 2026-01-02T03:04:05Z`)
    return time
  }
  if (!isNumber(field)) return text
  const number = Number(text)
  if (text.trim() === '' || !Number.isFinite(number)) throw configInvalid(`${name} must be a number`)
  return number
}

/** @throws {WebhookError} `config_invalid` */
function readGeometry(
  layer: Layer,
  { geometry }: Values,
  feature: Feature | undefined,
): Pick<FeatureRow, 'geometry'> {
  const before = geometryText(layer, feature)
  if (geometry === undefined || before === undefined || (feature && geometry === before)) return {}
  if (geometry.trim() === '') return { geometry: null }
  try {
    return { geometry: JSON.parse(geometry) }
  } catch {
    throw configInvalid('the geometry is not JSON')
  }
}

import { AdminError } from '../http/errors.ts'
import { type Attributes, type Feature, findField, type Layer, toGlobalId, toIdText } from './model.ts'
import { parseWhere, WhereError } from './where.ts'

/** Which features of a layer to find. All given conditions must apply. */
export interface Selection {
  /** For example `name = 'Oak' AND height > 10`. Default: all features. */
  where?: string | undefined
  objectIds?: readonly unknown[] | undefined
  globalIds?: readonly unknown[] | undefined
  /** For example `name DESC, OBJECTID`. Default: in the order of insertion. */
  orderByFields?: string | undefined
}

const SUPPORTED =
  'the mock supports fields, texts, numbers, TIMESTAMP and DATE, = <> < > <= >=, IN, LIKE, IS NULL, AND, OR, NOT and parentheses'

/** @throws {AdminError} 400 for an invalid condition or order */
export function findFeatures(
  layer: Layer,
  { where, objectIds, globalIds, orderByFields }: Selection,
): Feature[] {
  const condition = where === undefined ? undefined : readWhere(layer, where)
  let found = [...layer.features.values()]
  if (objectIds) {
    const ids = new Set(objectIds.map((id) => Number(toIdText(id) || Number.NaN)))
    found = found.filter(({ objectId }) => ids.has(objectId))
  }
  if (globalIds) {
    const ids = new Set(globalIds.map(toGlobalId))
    found = found.filter(({ globalId }) => ids.has(globalId))
  }
  if (condition) found = found.filter(({ attributes }) => condition(attributes) === true)
  return orderByFields === undefined ? found : sort(layer, found, orderByFields)
}

/** @throws {AdminError} 400 */
function readWhere(layer: Layer, where: string): ReturnType<typeof parseWhere> {
  try {
    return parseWhere(layer, where)
  } catch (error) {
    if (!(error instanceof WhereError)) throw error
    throw new AdminError(400, `where is not valid: ${error.message}; ${SUPPORTED}`)
  }
}

/** @throws {AdminError} 400 */
function sort(layer: Layer, features: Feature[], orderByFields: string): Feature[] {
  // A repeated field cannot change the order.
  const signs = new Map<string, number>()
  for (const part of orderByFields.split(',')) {
    const [name = '', direction = 'ASC', ...more] = part.trim().split(/\s+/)
    const field = findField(layer, name)
    const sign = { ASC: 1, DESC: -1 }[direction.toUpperCase()]
    if (!field || !sign || more.length > 0)
      throw new AdminError(400, 'orderByFields must be names of fields, each with ASC or DESC')
    if (!signs.has(field.name)) signs.set(field.name, sign)
  }
  const keys = [...signs]
  return features.sort((one, other) => {
    for (const [name, sign] of keys) {
      const order = compareValues(one.attributes[name] ?? null, other.attributes[name] ?? null)
      if (order !== 0) return order * sign
    }
    return 0
  })
}

/** Null comes first. */
function compareValues(one: Attributes[string], other: Attributes[string]): number {
  if (one === other) return 0
  if (one === null || one === undefined) return -1
  if (other === null || other === undefined) return 1
  return one < other ? -1 : 1
}

/**
 * Reads the names of fields, comma-separated; `*` selects all.
 *
 * @returns undefined for all fields
 * @throws {AdminError} 400 for an unknown field
 */
export function readOutFields(layer: Layer, outFields: string | undefined): string[] | undefined {
  if (outFields === undefined) return undefined
  const names = [...new Set(outFields.split(',').map((name) => name.trim()))]
  if (names.includes('*')) return undefined
  return names.map((name) => {
    const field = findField(layer, name)
    if (field) return field.name
    throw new AdminError(
      400,
      `outFields has ${JSON.stringify(name.slice(0, 64))}, which is not a field of the layer`,
    )
  })
}

/** A feature as JSON. */
export interface FeatureJson {
  attributes: Attributes
  geometry?: object
}

/** @param names undefined for all fields */
export function toFeatureJson(
  { attributes, geometry }: Pick<Feature, 'attributes' | 'geometry'>,
  names: readonly string[] | undefined,
  withGeometry: boolean,
): FeatureJson {
  return {
    attributes: names
      ? Object.fromEntries(names.map((name) => [name, attributes[name] ?? null]))
      : attributes,
    ...(withGeometry && geometry ? { geometry } : {}),
  }
}

import { randomUUID } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { type EditContext, EditError } from './edits.ts'
import { readGeometry } from './geometry.ts'
import type { StagedLayer } from './layer-data.ts'
import { MAX_FEATURES } from './limits.ts'
import { type Attributes, type Change, type Feature, findField, toGlobalId, type Value } from './model.ts'
import { readAttributes } from './values.ts'

/** A change before it has a generation. */
export type NewChange = Omit<Change, 'generation'>

/** What a row did. */
export interface RowResult {
  objectId: number
  globalId: string
  changes: NewChange[]
}

/** @throws {EditError} */
export function addFeature(staged: StagedLayer, row: unknown, context: EditContext): RowResult {
  const { layer } = staged
  const { attributes, geometry } = readRow(row)
  if (staged.size >= MAX_FEATURES)
    throw new EditError(1017, `The layer is full: it has ${MAX_FEATURES} features.`)
  const values = readAttributes(layer, attributes)
  const globalId = context.useGlobalIds ? newGlobalId(staged, attributes) : createGlobalId()
  const feature: Feature = {
    objectId: layer.nextObjectId,
    globalId,
    attributes: {},
    geometry: readGeometry(layer, geometry),
    attachments: new Map(),
  }
  const { creationDate, creator, editDate, editor } = layer.systemFields
  const { now, username } = context
  const all = withSystemValues(layer, feature, {
    ...emptyValues(layer, values),
    [creationDate]: now,
    [creator]: username,
    [editDate]: now,
    [editor]: username,
  })
  layer.nextObjectId += 1
  staged.put({ ...feature, attributes: all })
  return toResult(feature, [toChange(layer, feature, 'insert', context)])
}

/** @throws {EditError} */
export function updateFeature(staged: StagedLayer, row: unknown, context: EditContext): RowResult {
  const { layer } = staged
  const { attributes, geometry, hasGeometry } = readRow(row)
  const before = find(staged, idOf(staged, attributes, context), context)
  const values = readAttributes(layer, attributes)
  const { editDate, editor } = layer.systemFields
  const after: Feature = {
    ...before,
    attributes: { ...before.attributes, ...values, [editDate]: context.now, [editor]: context.username },
    geometry: hasGeometry ? readGeometry(layer, geometry) : before.geometry,
  }
  staged.put(after)
  const fields = Object.keys(values).filter((name) => values[name] !== before.attributes[name])
  const movesGeometry = !isDeepStrictEqual(before.geometry, after.geometry)
  return toResult(before, [{ ...toChange(layer, before, 'update', context), fields, movesGeometry }])
}

/** @throws {EditError} */
export function deleteFeature(staged: StagedLayer, id: unknown, context: EditContext): RowResult {
  const { layer } = staged
  const feature = find(staged, id, context)
  staged.remove(feature)
  const { attributes, geometry, attachments } = feature
  const change: NewChange = { ...toChange(layer, feature, 'delete', context), row: { attributes, geometry } }
  const files = [...attachments.values()].map(
    (attachment): NewChange => ({
      ...toChange(layer, feature, 'delete', context),
      of: 'attachment',
      attachmentId: attachment.id,
      attachmentGlobalId: attachment.globalId,
    }),
  )
  return toResult(feature, [change, ...files])
}

export const createGlobalId = (): string => `{${randomUUID().toUpperCase()}}`

export const toChange = (
  { id }: { id: number },
  { objectId, globalId }: Feature,
  kind: Change['kind'],
  { username, now }: EditContext,
): NewChange => ({ when: now, layerId: id, of: 'feature', kind, objectId, globalId, editor: username })

const toResult = ({ objectId, globalId }: Feature, changes: NewChange[]): RowResult => ({
  objectId,
  globalId,
  changes,
})

/** Puts the ids of a feature into its attributes, which have the order of the fields. */
export function withSystemValues(
  { fields, systemFields }: StagedLayer['layer'],
  { objectId, globalId }: Pick<Feature, 'objectId' | 'globalId'>,
  values: Attributes,
): Attributes {
  const all: Attributes = { ...values, [systemFields.objectId]: objectId, [systemFields.globalId]: globalId }
  return Object.fromEntries(fields.map(({ name }) => [name, all[name] ?? null]))
}

/** @throws {EditError} 1001 for a field without a value that is not nullable */
export function emptyValues({ fields }: StagedLayer['layer'], values: Attributes): Record<string, Value> {
  const missing = fields.find(
    ({ name, editable, nullable }) => editable && !nullable && !Object.hasOwn(values, name),
  )
  if (missing) throw new EditError(1001, `Field: ${missing.name} is not nullable. Cannot set null value.`)
  return values
}

/** @throws {EditError} 1000 */
function readRow(row: unknown): {
  attributes: Readonly<Record<string, unknown>>
  geometry: unknown
  hasGeometry: boolean
} {
  if (!isObject(row)) throw new EditError(1000, 'A feature must be an object with attributes and geometry.')
  const { attributes = {}, geometry } = row
  if (!isObject(attributes)) throw new EditError(1000, 'attributes must be an object.')
  return { attributes, geometry, hasGeometry: geometry !== undefined }
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** The id of the feature that a row names: its object id or, with `useGlobalIds`, its global id. */
function idOf(
  { layer }: StagedLayer,
  attributes: Readonly<Record<string, unknown>>,
  { useGlobalIds }: EditContext,
): unknown {
  const wanted = useGlobalIds ? layer.systemFields.globalId : layer.systemFields.objectId
  const name = Object.keys(attributes).find((name) => findField(layer, name)?.name === wanted)
  if (name !== undefined) return attributes[name]
  throw useGlobalIds
    ? new EditError(1020, 'Missing GlobalID.')
    : new EditError(1011, `Object is missing: there is no ${wanted}.`)
}

/** @throws {EditError} 1011 */
export function find(staged: StagedLayer, id: unknown, { useGlobalIds }: EditContext): Feature {
  const globalId = toGlobalId(id)
  const feature =
    useGlobalIds || globalId !== undefined ? staged.withGlobalId(globalId ?? '') : staged.get(Number(id))
  if (feature) return feature
  throw new EditError(1011, `Object is missing: ${JSON.stringify(String(id).slice(0, 64))}.`)
}

/** @throws {EditError} 1020, 1021, 1016 or 1022 */
function newGlobalId(staged: StagedLayer, attributes: Readonly<Record<string, unknown>>): string {
  const given = idOf(staged, attributes, { username: '', now: 0, useGlobalIds: true })
  if (given === null || given === '') throw new EditError(1021, 'Empty GlobalID.')
  const globalId = toGlobalId(given)
  if (globalId === undefined)
    throw new EditError(1016, 'Setting of value for GlobalID failed. It must be a UUID.')
  if (staged.withGlobalId(globalId))
    throw new EditError(
      1022,
      'Unique constraint violation error on inserting the value: the GlobalID exists.',
    )
  return globalId
}

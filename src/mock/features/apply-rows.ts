import { randomUUID } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { type EditContext, EditError } from './edits.ts'
import { readGeometry } from './geometry.ts'
import { find, idOf, newGlobalId, readAttributes, type StagedLayer } from './layer-data.ts'
import { type Attributes, type Change, type Feature, type Layer, MAX_FEATURES, type Value } from './model.ts'

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
  const { values, moved } = withIds(before, () => ({
    values: readAttributes(layer, attributes),
    moved: hasGeometry ? readGeometry(layer, geometry) : before.geometry,
  }))
  const { editDate, editor } = layer.systemFields
  const after: Feature = {
    ...before,
    attributes: { ...before.attributes, ...values, [editDate]: context.now, [editor]: context.username },
    geometry: moved,
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

/** Adds the ids of a feature to an error. */
function withIds<T>({ objectId, globalId }: Feature, run: () => T): T {
  try {
    return run()
  } catch (error) {
    if (error instanceof EditError) throw new EditError(error.code, error.message, { objectId, globalId })
    throw error
  }
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
  { fields, systemFields }: Pick<Layer, 'fields' | 'systemFields'>,
  { objectId, globalId }: Pick<Feature, 'objectId' | 'globalId'>,
  values: Attributes,
): Attributes {
  const all: Attributes = { ...values, [systemFields.objectId]: objectId, [systemFields.globalId]: globalId }
  return Object.fromEntries(fields.map(({ name }) => [name, all[name] ?? null]))
}

/** @throws {EditError} 1001 for a field without a value that is not nullable */
function emptyValues({ fields }: StagedLayer['layer'], values: Attributes): Record<string, Value> {
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

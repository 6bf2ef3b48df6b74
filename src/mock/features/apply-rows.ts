import { randomUUID } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { isObject } from '../../shared/json.ts'
import {
  type AttachmentAdd,
  type AttachmentContent,
  type AttachmentDelete,
  type AttachmentUpdate,
  type EditContext,
  EditError,
} from './edits.ts'
import { readGeometry } from './geometry.ts'
import { find, idOf, newGlobalId, readAttributes, type StagedLayer } from './layer-data.ts'
import {
  type Attachment,
  type Attributes,
  type Change,
  type Feature,
  type Layer,
  MAX_ATTACHMENT,
  MAX_FEATURES,
  toGlobalId,
  type Value,
} from './model.ts'

/** A change before it has a generation. */
export type NewChange = Omit<Change, 'generation'>

/** What a row did. */
export interface RowResult {
  objectId: number
  globalId: string
  changes: NewChange[]
}

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

function emptyValues({ fields }: StagedLayer['layer'], values: Attributes): Record<string, Value> {
  const missing = fields.find(
    ({ name, editable, nullable }) => editable && !nullable && !Object.hasOwn(values, name),
  )
  if (missing) throw new EditError(1001, `Field: ${missing.name} is not nullable. Cannot set null value.`)
  return values
}

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

/** Checks whether the service has room for the bytes that the edits add. */
export type RequireRoom = (bytes: number) => void

export function addAttachment(
  staged: StagedLayer,
  { parent, globalId, ...content }: AttachmentAdd,
  context: EditContext,
  requireRoom: RequireRoom,
): RowResult {
  const { layer } = staged
  if (!layer.hasAttachments)
    throw new EditError(1008, 'Adding an attachment failed: the layer has no attachments.')
  const feature = find(staged, parent, {})
  requireContent(content, 1008, 'Adding an attachment failed')
  requireRoom(content.bytes.length)
  const id = globalId === undefined ? createGlobalId() : toGlobalId(globalId)
  if (id === undefined) throw new EditError(1008, 'Adding an attachment failed: globalId must be a UUID.')
  if (staged.attachment(id))
    throw new EditError(
      1022,
      'Unique constraint violation error on inserting the value: the GlobalID exists.',
    )
  const attachment = toAttachment(layer.nextAttachmentId, id, content)
  layer.nextAttachmentId += 1
  return put(staged, feature, attachment, 'insert', context)
}

export function updateAttachment(
  staged: StagedLayer,
  { parent, attachment: reference, ...content }: AttachmentUpdate,
  context: EditContext,
  requireRoom: RequireRoom,
): RowResult {
  const { feature, attachment } = findAttachment(staged, { parent, attachment: reference }, 1009)
  requireContent(content, 1009, 'Updating an attachment failed')
  requireRoom(content.bytes.length - attachment.size)
  return put(staged, feature, toAttachment(attachment.id, attachment.globalId, content), 'update', context)
}

export function deleteAttachment(
  staged: StagedLayer,
  reference: AttachmentDelete,
  context: EditContext,
): RowResult {
  const { feature, attachment } = findAttachment(staged, reference, 1010)
  const attachments = new Map(feature.attachments)
  attachments.delete(attachment.id)
  staged.put({ ...feature, attachments })
  return toAttachmentResult(staged, feature, attachment, 'delete', context)
}

function put(
  staged: StagedLayer,
  feature: Feature,
  attachment: Attachment,
  kind: Change['kind'],
  context: EditContext,
): RowResult {
  staged.put({ ...feature, attachments: new Map(feature.attachments).set(attachment.id, attachment) })
  return toAttachmentResult(staged, feature, attachment, kind, context)
}

function toAttachmentResult(
  { layer }: StagedLayer,
  feature: Feature,
  { id, globalId }: Attachment,
  kind: Change['kind'],
  context: EditContext,
): RowResult {
  const change: NewChange = {
    ...toChange(layer, feature, kind, context),
    of: 'attachment',
    attachmentId: id,
    attachmentGlobalId: globalId,
  }
  return { objectId: id, globalId, changes: [change] }
}

const toAttachment = (
  id: number,
  globalId: string,
  { name, contentType, bytes }: AttachmentContent,
): Attachment => ({ id, globalId, name, contentType, size: bytes.length, bytes })

function requireContent({ name, contentType, bytes }: AttachmentContent, code: number, failed: string): void {
  if (name === '' || name.length > 255 || /[\p{Cc}\p{Cs}"\\/]/u.test(name))
    throw new EditError(
      code,
      `${failed}: the name of the file must have 1 to 255 characters, without " and slashes.`,
    )
  if (!/^[\w!#$&^.+-]{1,80}\/[\w!#$&^.+-]{1,80}$/.test(contentType))
    throw new EditError(code, `${failed}: the content type must be a media type such as image/png.`)
  if (bytes.length > MAX_ATTACHMENT)
    throw new EditError(code, `${failed}: the file is larger than ${MAX_ATTACHMENT} bytes.`)
}

function findAttachment(
  staged: StagedLayer,
  { parent, attachment: reference }: AttachmentDelete,
  code: number,
): { feature: Feature; attachment: Attachment } {
  const owner = parent === undefined ? undefined : find(staged, parent, {})
  const found = staged.attachment(toGlobalId(reference) ?? reference)
  if (found && (!owner || owner.objectId === found.feature.objectId)) return found
  throw new EditError(
    code,
    `Object is missing: attachment ${JSON.stringify(String(reference).slice(0, 64))}.`,
  )
}

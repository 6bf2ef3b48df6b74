import { randomUUID } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { isObject } from '../../shared/json.ts'
import { quote } from '../http/errors.ts'
import {
  type AttachmentAdd,
  type AttachmentContent,
  type AttachmentDelete,
  type AttachmentUpdate,
  type EditContext,
  EditError,
} from './edit-types.ts'
import { readGeometry } from './geometry.ts'
import {
  find,
  findAttachment,
  globalIdExists,
  idOf,
  newGlobalId,
  readAttributes,
  type StagedLayer,
} from './layer-data.ts'
import {
  type Attachment,
  type Attributes,
  type Change,
  type Feature,
  type Geometry,
  type Layer,
  MAX_ATTACHMENT,
  MAX_FEATURES,
  toGlobalId,
  type Value,
} from './model.ts'

export type NewChange = Omit<Change, 'generation'>

/** The editor, the time, and the remaining space of the service. */
export interface RowContext extends EditContext {
  /** @throws {EditError} if the service has no space for so many more bytes of attachments */
  requireRoom(bytes: number): void
}

export interface RowResult {
  objectId: number
  globalId: string
  changes: NewChange[]
}

export function addFeature(staged: StagedLayer, row: unknown, context: RowContext): RowResult {
  const { layer } = staged
  const { attributes, geometry } = readRow(row)
  if (staged.features.size >= MAX_FEATURES)
    throw new EditError(1017, `The layer is full: it has ${MAX_FEATURES} features.`)
  const values = readAttributes(layer, attributes)
  const missing = layer.fields.find(
    ({ name, editable, nullable }) => editable && !nullable && !Object.hasOwn(values, name),
  )
  if (missing) throw new EditError(1001, `Field: ${missing.name} is not nullable. Cannot set null value.`)
  const ids = {
    objectId: layer.nextObjectId,
    globalId: context.useGlobalIds ? newGlobalId(staged, attributes) : createGlobalId(),
  }
  const feature = createFeature(layer, ids, values, readGeometry(layer, geometry), context)
  layer.nextObjectId += 1
  staged.put(feature)
  return toResult(layer, feature, 'insert', context)
}

export function updateFeature(staged: StagedLayer, row: unknown, context: RowContext): RowResult {
  const { layer } = staged
  const { attributes, geometry } = readRow(row)
  const before = find(staged, idOf(staged, attributes, context), context)
  const values = readAttributes(layer, attributes)
  const { editDate, editor } = layer.systemFields
  const after: Feature = {
    ...before,
    attributes: { ...before.attributes, ...values, [editDate]: context.now, [editor]: context.username },
    geometry: geometry === undefined ? before.geometry : readGeometry(layer, geometry),
  }
  staged.put(after)
  return toResult(layer, before, 'update', context, {
    fields: Object.keys(values).filter((name) => values[name] !== before.attributes[name]),
    movesGeometry: !isDeepStrictEqual(before.geometry, after.geometry),
  })
}

export function deleteFeature(staged: StagedLayer, id: unknown, context: RowContext): RowResult {
  const { layer } = staged
  const feature = find(staged, id, context)
  staged.remove(feature)
  const { attributes, geometry, attachments } = feature
  const result = toResult(layer, feature, 'delete', context, { row: { attributes, geometry } })
  const files = Array.from(attachments.values(), (attachment) =>
    toChange(layer, feature, 'delete', context, ofAttachment(attachment)),
  )
  return { ...result, changes: [...result.changes, ...files] }
}

export const createGlobalId = (): string => `{${randomUUID().toUpperCase()}}`

const toChange = (
  { id }: Layer,
  { objectId, globalId }: Feature,
  kind: Change['kind'],
  { username, now }: EditContext,
  more: Partial<NewChange> = {},
): NewChange => ({
  when: now,
  layerId: id,
  of: 'feature',
  kind,
  objectId,
  globalId,
  editor: username,
  ...more,
})

const ofAttachment = ({ id, globalId }: Attachment): Partial<NewChange> => ({
  of: 'attachment',
  attachmentId: id,
  attachmentGlobalId: globalId,
})

function toResult(...change: Parameters<typeof toChange>): RowResult {
  const [, { objectId, globalId }] = change
  return { objectId, globalId, changes: [toChange(...change)] }
}

/** Creates a feature whose attributes have the order of the fields. The given values can include editor fields. */
export function createFeature(
  { fields, systemFields }: Pick<Layer, 'fields' | 'systemFields'>,
  ids: Pick<Feature, 'objectId' | 'globalId'>,
  values: Attributes,
  geometry: Geometry | undefined,
  { now, username }: Pick<EditContext, 'now' | 'username'>,
): Feature {
  const { creationDate, creator, editDate, editor } = systemFields
  const edited = { [creationDate]: now, [creator]: username, [editDate]: now, [editor]: username }
  // A map, because a field may be called `constructor`.
  const all = new Map<string, Value>(Object.entries({ ...edited, ...values }))
  all.set(systemFields.objectId, ids.objectId).set(systemFields.globalId, ids.globalId)
  const attributes = Object.fromEntries(fields.map(({ name }) => [name, all.get(name) ?? null]))
  return { ...ids, attributes, geometry, attachments: new Map() }
}

function readRow(row: unknown): { attributes: Readonly<Record<string, unknown>>; geometry: unknown } {
  if (!isObject(row)) throw new EditError(1000, 'A feature must be an object with attributes and geometry.')
  const { attributes = {}, geometry } = row
  if (!isObject(attributes)) throw new EditError(1000, 'attributes must be an object.')
  return { attributes, geometry }
}

export function addAttachment(
  staged: StagedLayer,
  { parent, globalId, ...content }: AttachmentAdd,
  context: RowContext,
): RowResult {
  const { layer } = staged
  const failed = 'Adding an attachment failed'
  if (!layer.hasAttachments) throw new EditError(1008, `${failed}: the layer has no attachments.`)
  const feature = find(staged, parent, {})
  requireContent(content, 1008, failed)
  context.requireRoom(content.bytes.length)
  const id = globalId === undefined ? createGlobalId() : toGlobalId(globalId)
  if (id === undefined) throw new EditError(1008, `${failed}: globalId must be a UUID.`)
  if (findAttachment(staged, id)) throw globalIdExists()
  const attachment = toAttachment(layer.nextAttachmentId, id, content)
  layer.nextAttachmentId += 1
  return put(staged, feature, attachment, 'insert', context)
}

export function updateAttachment(
  staged: StagedLayer,
  { parent, attachment: reference, ...content }: AttachmentUpdate,
  context: RowContext,
): RowResult {
  const { feature, attachment } = requireAttachment(staged, { parent, attachment: reference }, 1009)
  requireContent(content, 1009, 'Updating an attachment failed')
  context.requireRoom(content.bytes.length - attachment.size)
  const { id, globalId } = attachment
  return put(staged, feature, toAttachment(id, globalId, content), 'update', context)
}

export function deleteAttachment(
  staged: StagedLayer,
  reference: AttachmentDelete,
  context: RowContext,
): RowResult {
  const { feature, attachment } = requireAttachment(staged, reference, 1010)
  return put(staged, feature, attachment, 'delete', context)
}

function put(
  staged: StagedLayer,
  feature: Feature,
  attachment: Attachment,
  kind: Change['kind'],
  context: EditContext,
): RowResult {
  const attachments = new Map(feature.attachments)
  if (kind === 'delete') attachments.delete(attachment.id)
  else attachments.set(attachment.id, attachment)
  staged.put({ ...feature, attachments })
  const { id: objectId, globalId } = attachment
  const change = toChange(staged.layer, feature, kind, context, ofAttachment(attachment))
  return { objectId, globalId, changes: [change] }
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

function requireAttachment(
  staged: StagedLayer,
  { parent, attachment: reference }: AttachmentDelete,
  code: number,
): { feature: Feature; attachment: Attachment } {
  const owner = parent === undefined ? undefined : find(staged, parent, {})
  const found = findAttachment(staged, toGlobalId(reference) ?? reference)
  if (found && (!owner || owner.objectId === found.feature.objectId)) return found
  throw new EditError(code, `Object is missing: attachment ${quote(String(reference))}.`)
}

import { createGlobalId, type NewChange, type RowResult, toChange } from './apply-rows.ts'
import {
  type AttachmentAdd,
  type AttachmentContent,
  type AttachmentDelete,
  type AttachmentUpdate,
  type EditContext,
  EditError,
} from './edits.ts'
import { find, type StagedLayer } from './layer-data.ts'
import { type Attachment, type Change, type Feature, MAX_ATTACHMENT, toGlobalId } from './model.ts'

/** Checks whether the service has room for the bytes that the edits add. */
export type RequireRoom = (bytes: number) => void

/** @throws {EditError} 1008 */
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

/** @throws {EditError} 1009 */
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

/** @throws {EditError} 1010 */
export function deleteAttachment(
  staged: StagedLayer,
  reference: AttachmentDelete,
  context: EditContext,
): RowResult {
  const { feature, attachment } = findAttachment(staged, reference, 1010)
  const attachments = new Map(feature.attachments)
  attachments.delete(attachment.id)
  staged.put({ ...feature, attachments })
  return toResult(staged, feature, attachment, 'delete', context)
}

function put(
  staged: StagedLayer,
  feature: Feature,
  attachment: Attachment,
  kind: Change['kind'],
  context: EditContext,
): RowResult {
  staged.put({ ...feature, attachments: new Map(feature.attachments).set(attachment.id, attachment) })
  return toResult(staged, feature, attachment, kind, context)
}

function toResult(
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

/** @throws {EditError} */
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

/** @throws {EditError} */
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

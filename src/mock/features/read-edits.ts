import { type Parameters, single } from '../admin/form-fields.ts'
import { AdminError } from '../http/errors.ts'
import type { AttachmentAdd, AttachmentEdits, AttachmentUpdate, EditContext, LayerEdits } from './edits.ts'
import { MAX_EDITS } from './limits.ts'
import { toIdText } from './model.ts'
import { type FeatureCall, readBoolean, readJson } from './operation.ts'

/** The author, the time and the mode of the edits of a request. */
export function readContext({ context, user, parameters }: FeatureCall): Required<EditContext> {
  return {
    username: user.username,
    now: context.options.clock.now(),
    rollbackOnFailure: readBoolean(parameters, 'rollbackOnFailure') ?? true,
    useGlobalIds: readBoolean(parameters, 'useGlobalIds') ?? false,
  }
}

/** Reads a list of rows as JSON. @throws {AdminError} 400 */
export function readRows(parameters: Parameters, name: string): unknown[] | undefined {
  const rows = readJson(parameters, name)
  if (rows === undefined || Array.isArray(rows)) return rows
  throw new AdminError(400, `${name} must be a JSON array`)
}

/** Reads ids: comma-separated, or as a JSON array. @throws {AdminError} 400 */
export function readIds(parameters: Parameters, name: string): unknown[] | undefined {
  const value = single(parameters, name)
  if (value === undefined || value.trimStart().startsWith('[')) return readRows(parameters, name)
  return value
    .split(',')
    .map((id) => id.trim())
    .filter((id) => id !== '')
}

/** Reads the parameters of `applyEdits` on a layer. @throws {AdminError} 400 */
export const readLayerEdits = (parameters: Parameters, layerId: number): LayerEdits => ({
  layerId,
  adds: readRows(parameters, 'adds'),
  updates: readRows(parameters, 'updates'),
  deletes: readIds(parameters, 'deletes'),
  attachments: readAttachmentEdits(readJson(parameters, 'attachments')),
})

/** Reads the parameter `edits` of `applyEdits` on a service. @throws {AdminError} 400 */
export function readServiceEdits(parameters: Parameters): LayerEdits[] {
  const edits = readRows(parameters, 'edits')
  if (!edits) throw new AdminError(400, 'edits is required')
  if (edits.length > MAX_EDITS) throw new AdminError(400, `edits may have at most ${MAX_EDITS} entries`)
  return edits.map(readLayer)
}

const LISTS = ['adds', 'updates', 'deletes'] as const

/** @throws {AdminError} 400 */
function readLayer(entry: unknown): LayerEdits {
  const { id, attachments, ...lists } = (entry ?? {}) as Record<string, unknown>
  if (!Number.isInteger(id)) throw new AdminError(400, 'each entry of edits must have the id of a layer')
  return {
    layerId: id as number,
    attachments: readAttachmentEdits(attachments),
    ...readLists(lists, 'edits'),
  }
}

/** @throws {AdminError} 400 */
function readLists(
  lists: Record<string, unknown>,
  name: string,
): Partial<Record<(typeof LISTS)[number], unknown[]>> {
  const found = LISTS.flatMap((list) => {
    const rows = lists[list]
    if (rows === undefined || rows === null) return []
    if (!Array.isArray(rows)) throw new AdminError(400, `${list} of ${name} must be an array`)
    return [[list, rows]]
  })
  return Object.fromEntries(found)
}

/** Reads the attachments of `applyEdits`. @throws {AdminError} 400 */
function readAttachmentEdits(value: unknown): AttachmentEdits | undefined {
  if (value === undefined || value === null) return undefined
  if (typeof value !== 'object') throw new AdminError(400, 'attachments must be an object')
  const { adds = [], updates = [], deletes = [] } = readLists(value as Record<string, unknown>, 'attachments')
  return {
    adds: adds.map(readAdd),
    updates: updates.map(readUpdate),
    deletes: deletes.map((globalId) => ({ attachment: toIdText(globalId) })),
  }
}

/** @throws {AdminError} 400 */
function readAdd(row: unknown): AttachmentAdd {
  const { globalId, parentGlobalId, ...file } = (row ?? {}) as Record<string, unknown>
  if (typeof parentGlobalId !== 'string')
    throw new AdminError(400, 'each attachment must have the parentGlobalId of its feature')
  if (globalId !== undefined && globalId !== null && typeof globalId !== 'string')
    throw new AdminError(400, 'globalId of an attachment must be a text')
  return {
    parent: parentGlobalId,
    globalId: globalId ?? undefined,
    ...readContent(file),
  }
}

/** @throws {AdminError} 400 */
function readUpdate(row: unknown): AttachmentUpdate {
  const { globalId, parentGlobalId, ...file } = (row ?? {}) as Record<string, unknown>
  if (typeof globalId !== 'string')
    throw new AdminError(400, 'each attachment to update must have its globalId')
  return {
    parent: typeof parentGlobalId === 'string' ? parentGlobalId : undefined,
    attachment: globalId,
    ...readContent(file),
  }
}

/** @throws {AdminError} 400 */
function readContent({ name, contentType, data }: Record<string, unknown>): {
  name: string
  contentType: string
  bytes: Uint8Array
} {
  if (typeof data !== 'string' || !/^[A-Za-z0-9+/]*={0,2}$/.test(data))
    throw new AdminError(400, 'each attachment must have data in base64; the mock has no uploads')
  return {
    name: typeof name === 'string' ? name : '',
    contentType: typeof contentType === 'string' ? contentType : 'application/octet-stream',
    bytes: Uint8Array.from(Buffer.from(data, 'base64')),
  }
}

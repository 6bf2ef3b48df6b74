import { type Attachment, type Change, type Feature, findField, type Geometry, type Layer } from '../model.ts'
import { type NetChange, netAttachments, netFeatures, type OwnedAttachment } from './net-changes.ts'
import type { ExtractRequest } from './request.ts'

/** The changes of one layer that a request wants. */
export interface LayerChanges {
  adds: Feature[]
  updates: Feature[]
  deletions: Change[]
  /** Object ids of the updates that changed one of the fields to compare. */
  fieldUpdates: number[]
  hasGeometryUpdates: boolean
}

/** Selects the changes of features. A feature that was inserted and updated is among the adds, if these are wanted. */
export function selectFeatures(
  layer: Layer,
  changes: readonly Change[],
  { inserts, updates, deletes, filters, fieldsToCompare = [] }: ExtractRequest,
): LayerChanges {
  const filter = filters.get(layer.id)
  const compared = fieldsToCompare.map((name) => findField(layer, name)?.name)
  const selected: LayerChanges = {
    adds: [],
    updates: [],
    deletions: [],
    fieldUpdates: [],
    hasGeometryUpdates: false,
  }
  for (const { current, deletion, isInserted, isUpdated, fields, isMoved } of netFeatures(layer, changes)) {
    if (deletion && deletes) selected.deletions.push(deletion)
    if (!current || (filter && !filter.has(current.objectId))) continue
    if (isInserted && inserts) {
      selected.adds.push(current)
    } else if (isUpdated) {
      selected.hasGeometryUpdates ||= isMoved
      if (!updates) continue
      selected.updates.push(current)
      if (compared.some((name) => name !== undefined && fields.has(name)))
        selected.fieldUpdates.push(current.objectId)
    }
  }
  return selected
}

/** The edits of a layer in a change document. */
export function toFeatureEdits(changes: LayerChanges, request: ExtractRequest): object {
  const { adds, updates, deletions, fieldUpdates } = changes
  const compared = request.fieldsToCompare ? { fieldUpdates } : {}
  if (request.idsOnly)
    return {
      objectIds: {
        adds: adds.map(({ objectId }) => objectId),
        updates: updates.map(({ objectId }) => objectId),
        deletes: deletions.map(({ objectId }) => objectId),
        ...compared,
      },
    }
  return {
    features: {
      adds: adds.map(toRow),
      updates: updates.map(toRow),
      deleteIds: deletions.map(({ globalId }) => globalId),
      ...(request.deletedFeatures
        ? { deletes: deletions.flatMap(({ row }) => (row ? [toRow(row)] : [])) }
        : {}),
      ...compared,
    },
  }
}

const toRow = ({ attributes, geometry }: Pick<Feature, 'attributes' | 'geometry'>): object =>
  geometry ? { geometry, attributes } : { attributes }

/** The geometries of the changes: of deleted features, the last one. */
export const geometriesOf = ({ adds, updates, deletions }: LayerChanges): Geometry[] =>
  [...adds, ...updates, ...deletions.map(({ row }) => row)]
    .map((row) => row?.geometry)
    .filter((geometry) => geometry !== undefined)

/**
 * The edits of the attachments of a layer.
 *
 * @param urlOf returns the URL of an attachment
 */
export function toAttachmentEdits(
  layer: Layer,
  changes: readonly Change[],
  { inserts, updates, deletes, filters, attachmentsByUrl }: ExtractRequest,
  urlOf: (owned: OwnedAttachment) => string,
): Record<'adds' | 'updates' | 'deleteIds', readonly unknown[]> {
  const filter = filters.get(layer.id)
  const all = netAttachments(layer, changes).filter(
    ({ current }) => !current || !filter || filter.has(current.feature.objectId),
  )
  const toEdits = (isWanted: (change: NetChange<OwnedAttachment>) => boolean): object[] =>
    all.flatMap((change) =>
      change.current && isWanted(change) ? [toAttachment(change.current, attachmentsByUrl, urlOf)] : [],
    )
  const isAdd = ({ isInserted }: NetChange<OwnedAttachment>): boolean => isInserted && inserts
  return {
    adds: toEdits(isAdd),
    updates: toEdits((change) => change.isUpdated && updates && !isAdd(change)),
    deleteIds: deletes ? all.flatMap(({ deletion }) => deletion?.attachmentGlobalId ?? []) : [],
  }
}

function toAttachment(
  owned: OwnedAttachment,
  isByUrl: boolean,
  urlOf: (owned: OwnedAttachment) => string,
): object {
  const { id, globalId, name, contentType, size, bytes }: Attachment = owned.attachment
  return {
    attachmentId: id,
    globalId,
    parentGlobalId: owned.feature.globalId,
    name,
    contentType,
    size,
    ...(isByUrl
      ? { url: urlOf(owned) }
      : { data: Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64') }),
  }
}

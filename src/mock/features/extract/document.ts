import { AdminError } from '../../http/errors.ts'
import type { FeatureData } from '../feature-data.ts'
import { extentOf } from '../geometry.ts'
import { type Attachment, type Change, type Feature, findField, type Geometry, type Layer } from '../model.ts'
import type { ExtractRequest } from './request.ts'

/** What the changes of a window come to for one feature or attachment. */
interface NetChange<T> {
  /** The feature or attachment as it is now; undefined if it does not exist. */
  current: T | undefined
  /** The last deletion of the window; undefined without a deletion, or if the feature or attachment exists. */
  deletion: Change | undefined
  isInserted: boolean
  isUpdated: boolean
  /** Names of the attributes that the updates changed. */
  fields: ReadonlySet<string>
  isMoved: boolean
}

/** An attachment and the feature that it belongs to. */
interface OwnedAttachment {
  feature: Feature
  attachment: Attachment
}

/** Returns the net changes of features, in the order of their first change. */
const netFeatures = ({ features }: Layer, changes: readonly Change[]): NetChange<Feature>[] =>
  combineAll(
    changes.filter(({ of }) => of === 'feature'),
    ({ globalId }) => globalId,
    () => new Map(Array.from(features.values(), (feature) => [feature.globalId, feature])),
  )

/** Returns the net changes of attachments, in the order of their first change. */
const netAttachments = ({ features }: Layer, changes: readonly Change[]): NetChange<OwnedAttachment>[] =>
  combineAll(
    changes.filter(({ of }) => of === 'attachment'),
    ({ attachmentGlobalId = '' }) => attachmentGlobalId,
    () => {
      const all = new Map<string, OwnedAttachment>()
      for (const feature of features.values())
        for (const attachment of feature.attachments.values())
          all.set(attachment.globalId, { feature, attachment })
      return all
    },
  )

/**
 * Combines the changes with the same id. Only the current state is known, so what exists now is never deleted, whatever
 * happened in the window. What does not exist is deleted even if the window also contains its insertion, because a
 * client may have it from another window.
 *
 * @param index returns what exists now, by id
 */
function combineAll<T>(
  changes: readonly Change[],
  idOf: (change: Change) => string,
  index: () => ReadonlyMap<string, T>,
): NetChange<T>[] {
  if (changes.length === 0) return []
  const groups = new Map<string, Change[]>()
  for (const change of changes) {
    const group = groups.get(idOf(change))
    if (group) group.push(change)
    else groups.set(idOf(change), [change])
  }
  const all = index()
  return [...groups].map(([id, group]) => combine(group, all.get(id)))
}

function combine<T>(group: readonly Change[], current: T | undefined): NetChange<T> {
  const updates = group.filter(({ kind }) => kind === 'update')
  const exists = current !== undefined
  return {
    current,
    deletion: exists ? undefined : group.findLast(({ kind }) => kind === 'delete'),
    isInserted: exists && group.some(({ kind }) => kind === 'insert'),
    isUpdated: exists && updates.length > 0,
    fields: new Set(updates.flatMap(({ fields = [] }) => fields)),
    isMoved: updates.some(({ movesGeometry }) => movesGeometry === true),
  }
}

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
function selectFeatures(
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
function toFeatureEdits(changes: LayerChanges, request: ExtractRequest): object {
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
const geometriesOf = ({ adds, updates, deletions }: LayerChanges): Geometry[] =>
  [...adds, ...updates, ...deletions.map(({ row }) => row)]
    .map((row) => row?.geometry)
    .filter((geometry) => geometry !== undefined)

/**
 * The edits of the attachments of a layer.
 *
 * @param urlOf returns the URL of an attachment
 */
function toAttachmentEdits(
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

/** Maximum size of a change document in bytes. */
export const MAX_DOCUMENT: number = 64 * 1024 * 1024

/** A change document. */
export interface ChangeDocument {
  body: object
  hasEdits: boolean
}

interface DocumentOptions {
  data: Pick<FeatureData, 'layers' | 'changes'>
  request: ExtractRequest
  /** The URL of the service, without a slash at its end. */
  serviceUrl: string
  /** True to leave out all edits. */
  isEmpty?: boolean | undefined
}

/**
 * Creates the change document of a request: the current state of each feature that changed in the window of its layer.
 */
export function createDocument(options: DocumentOptions): ChangeDocument {
  const { data, request, isEmpty = false } = options
  const changed = request.windows.map((window) => ({
    layer: data.layers.get(window.id) as Layer,
    changes: isEmpty ? [] : data.changes(window, window.id),
  }))
  requireSmallAttachments(changed, request)
  const edits = changed.map((one) => toEdits(one, options))
  const hasEdits = edits.some((layer) => layer.hasEdits)
  const body = {
    layerServerGens: request.windows.map(({ id, max }) => ({ id, serverGen: max })),
    transportType: request.isJob ? 'esriTransportTypeUrl' : 'esriTransportTypeEmbedded',
    responseType: responseType(hasEdits),
    ...(request.extentOnly ? toExtent(changed, request) : { edits: edits.map(({ body }) => body) }),
  }
  return { body, hasEdits }
}

export const responseType = (hasEdits: boolean): string =>
  `esriDataChangesResponseType${hasEdits ? 'Edits' : 'NoEdits'}`

type ChangedLayer = { layer: Layer; changes: ReturnType<FeatureData['changes']> }

function toEdits({ layer, changes }: ChangedLayer, { request, serviceUrl }: DocumentOptions): ChangeDocument {
  const features = selectFeatures(layer, changes, request)
  const urlOf = ({ feature, attachment }: OwnedAttachment): string =>
    `${serviceUrl}/${layer.id}/${feature.objectId}/attachments/${attachment.id}`
  const attachments = request.attachments ? toAttachmentEdits(layer, changes, request, urlOf) : undefined
  const lists = [features.adds, features.updates, features.deletions, ...Object.values(attachments ?? {})]
  const body = {
    id: layer.id,
    ...toFeatureEdits(features, request),
    ...(attachments ? { attachments } : {}),
    ...(request.hasGeometryUpdates ? { hasGeometryUpdates: features.hasGeometryUpdates } : {}),
  }
  return { body, hasEdits: lists.some((list) => list.length > 0) }
}

/** The extent of all changes, in the spatial reference of the first layer; null without geometries. */
function toExtent(changed: readonly ChangedLayer[], request: ExtractRequest): { extent: object | null } {
  const extent = extentOf(
    changed.flatMap(({ layer, changes }) => geometriesOf(selectFeatures(layer, changes, request))),
  )
  return { extent: extent ? { ...extent, spatialReference: changed[0]?.layer.spatialReference } : null }
}

/** Checks the size before the bytes are copied. */
function requireSmallAttachments(changed: readonly ChangedLayer[], request: ExtractRequest): void {
  if (!request.attachments || request.attachmentsByUrl) return
  let bytes = 0
  for (const { layer, changes } of changed)
    for (const { current } of netAttachments(layer, changes)) bytes += current?.attachment.size ?? 0
  if (bytes * 1.4 > MAX_DOCUMENT) throw tooLarge()
}

export function toBytes(body: object): Buffer {
  let bytes: Buffer | undefined
  try {
    bytes = Buffer.from(JSON.stringify(body))
  } catch (error) {
    // The JSON is longer than a string can be.
    if (!(error instanceof RangeError)) throw error
  }
  if (!bytes || bytes.length > MAX_DOCUMENT) throw tooLarge()
  return bytes
}

const tooLarge = (): AdminError =>
  new AdminError(
    400,
    `the changes are larger than ${MAX_DOCUMENT} bytes: ask for fewer layers or generations`,
  )

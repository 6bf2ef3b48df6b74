import { AdminError } from '../../http/errors.ts'
import type { FeatureData } from '../feature-data.ts'
import { findAttachment, type LayerData } from '../layer-data.ts'
import { type Change, type Feature, findField, toBase64 } from '../model.ts'

/** Object ids of the current features of a layer that match the request. */
export type Filter = ReadonlySet<number>

/** The generations of a layer that a request asks for: those after `min`, up to and including `max`. */
export interface LayerWindow {
  id: number
  min: number
  /** At most the current generation of the service. */
  max: number
}

/** A request for changes, with defaults. */
export interface ExtractRequest {
  /** In the order of the request. */
  windows: readonly LayerWindow[]
  /** By layer. Without a filter, all features of the layer are returned. */
  filters: ReadonlyMap<number, Filter>
  inserts: boolean
  updates: boolean
  deletes: boolean
  deletedFeatures: boolean
  idsOnly: boolean
  attachments: boolean
  attachmentsByUrl: boolean
  hasGeometryUpdates: boolean
  /** Names as in the request. */
  fieldsToCompare: readonly string[] | undefined
  /** Whether the response is a job. */
  isJob: boolean
}

/** What the changes of a window come to for one feature or attachment. */
interface NetChange<T> {
  /** The feature or attachment as it is now; undefined if it does not exist. */
  current: T | undefined
  /** The last deletion of the window; undefined without a deletion, or if the feature or attachment exists. */
  deletion: Change | undefined
  isInserted: boolean
  updates: readonly Change[]
}

/** An attachment and the feature that it belongs to. */
type OwnedAttachment = NonNullable<ReturnType<typeof findAttachment>>

/**
 * Combines the changes with the same id, in the order of their first change. Only the current state is known, so what
 * exists now is never deleted, whatever happened in the window. What does not exist is deleted even if the window also
 * contains its insertion, because a client may have it from another window.
 *
 * @param find returns what exists now
 */
function netChanges<T>(
  changes: readonly Change[],
  of: Change['of'],
  find: (globalId: string) => T | undefined,
): NetChange<T>[] {
  const groups = new Map<string, Change[]>()
  for (const change of changes) {
    if (change.of !== of) continue
    const id = (of === 'feature' ? change.globalId : change.attachmentGlobalId) ?? ''
    const group = groups.get(id)
    if (group) group.push(change)
    else groups.set(id, [change])
  }
  return [...groups].map(([id, group]) => {
    const current = find(id)
    return {
      current,
      deletion: current ? undefined : group.findLast(({ kind }) => kind === 'delete'),
      isInserted: group.some(({ kind }) => kind === 'insert'),
      updates: group.filter(({ kind }) => kind === 'update'),
    }
  })
}

const netAttachments = (layer: LayerData, changes: readonly Change[]): NetChange<OwnedAttachment>[] =>
  netChanges(changes, 'attachment', (globalId) => findAttachment(layer, globalId))

/** The changes of one layer that a request wants. */
interface LayerChanges {
  adds: Feature[]
  updates: Feature[]
  deletions: Change[]
  /** Object ids of the updates that changed one of the fields to compare. */
  fieldUpdates: number[]
  hasGeometryUpdates: boolean
}

/** Selects the changes of features. A feature that was inserted and updated is among the adds, if these are wanted. */
function selectFeatures(
  layer: LayerData,
  changes: readonly Change[],
  { inserts, updates: wantsUpdates, deletes, filters, fieldsToCompare = [] }: ExtractRequest,
): LayerChanges {
  const filter = filters.get(layer.id)
  const compared = new Set(fieldsToCompare.map((name) => findField(layer, name)?.name))
  const selected: LayerChanges = {
    adds: [],
    updates: [],
    deletions: [],
    fieldUpdates: [],
    hasGeometryUpdates: false,
  }
  const find = (globalId: string): Feature | undefined =>
    layer.features.get(layer.globalIds.get(globalId) ?? -1)
  for (const { current, deletion, isInserted, updates } of netChanges(changes, 'feature', find)) {
    if (deletion && deletes) selected.deletions.push(deletion)
    if (!current || (filter && !filter.has(current.objectId))) continue
    if (isInserted && inserts) {
      selected.adds.push(current)
    } else if (updates.length > 0) {
      selected.hasGeometryUpdates ||= updates.some(({ movesGeometry }) => movesGeometry)
      if (!wantsUpdates) continue
      selected.updates.push(current)
      if (updates.some(({ fields = [] }) => fields.some((name) => compared.has(name))))
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

/**
 * The edits of the attachments of a layer.
 *
 * @param layerUrl the URL of the layer
 */
function toAttachmentEdits(
  layer: LayerData,
  changes: readonly Change[],
  { inserts, updates, deletes, filters, attachmentsByUrl }: ExtractRequest,
  layerUrl: string,
): Record<'adds' | 'updates' | 'deleteIds', unknown[]> {
  const filter = filters.get(layer.id)
  const edits: ReturnType<typeof toAttachmentEdits> = { adds: [], updates: [], deleteIds: [] }
  for (const { current, deletion, isInserted, updates: changed } of netAttachments(layer, changes)) {
    if (deletion && deletes) edits.deleteIds.push(deletion.attachmentGlobalId)
    if (!current || (filter && !filter.has(current.feature.objectId))) continue
    const file = toAttachment(current, attachmentsByUrl ? layerUrl : undefined)
    if (isInserted && inserts) edits.adds.push(file)
    else if (changed.length > 0 && updates) edits.updates.push(file)
  }
  return edits
}

/** @param layerUrl undefined for the bytes instead of a URL */
function toAttachment({ feature, attachment }: OwnedAttachment, layerUrl: string | undefined): object {
  const { id, bytes, ...file } = attachment
  return {
    attachmentId: id,
    parentGlobalId: feature.globalId,
    ...file,
    ...(layerUrl === undefined
      ? { data: toBase64(bytes) }
      : { url: `${layerUrl}/${feature.objectId}/attachments/${id}` }),
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
  data: FeatureData
  request: ExtractRequest
  /** The URL of the service, without a slash at its end. */
  serviceUrl: string
  /** True to leave out all edits. */
  isEmpty?: boolean | undefined
}

/**
 * Creates the change document of a request: the current state of each feature that changed in the window of its layer.
 */
export function createDocument({
  data,
  request,
  serviceUrl,
  isEmpty = false,
}: DocumentOptions): ChangeDocument {
  const changed = request.windows.map((window): ChangedLayer => {
    const layer = data.layers.get(window.id) as LayerData
    const changes = isEmpty ? [] : data.changes(window, window.id)
    return { layer, changes, features: selectFeatures(layer, changes, request) }
  })
  requireSmallAttachments(changed, request)
  const edits = changed.map((layer) => toEdits(layer, request, serviceUrl))
  const hasEdits = edits.some((layer) => layer.hasEdits)
  const body = {
    layerServerGens: request.windows.map(({ id, max }) => ({ id, serverGen: max })),
    transportType: request.isJob ? 'esriTransportTypeUrl' : 'esriTransportTypeEmbedded',
    responseType: responseType(hasEdits),
    edits: edits.map(({ body }) => body),
  }
  return { body, hasEdits }
}

export const responseType = (hasEdits: boolean): string =>
  `esriDataChangesResponseType${hasEdits ? 'Edits' : 'NoEdits'}`

interface ChangedLayer {
  layer: LayerData
  changes: readonly Change[]
  features: LayerChanges
}

function toEdits(
  { layer, changes, features }: ChangedLayer,
  request: ExtractRequest,
  serviceUrl: string,
): ChangeDocument {
  const { adds, updates, deletions, hasGeometryUpdates } = features
  const attachments =
    request.attachments && toAttachmentEdits(layer, changes, request, `${serviceUrl}/${layer.id}`)
  const lists = [adds, updates, deletions, ...Object.values(attachments || {})]
  const body = {
    id: layer.id,
    ...toFeatureEdits(features, request),
    ...(attachments && { attachments }),
    ...(request.hasGeometryUpdates && { hasGeometryUpdates }),
  }
  return { body, hasEdits: lists.some((list) => list.length > 0) }
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

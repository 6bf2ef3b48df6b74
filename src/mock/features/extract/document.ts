import { AdminError } from '../../http/errors.ts'
import type { FeatureData } from '../feature-data.ts'
import { findAttachment, findByGlobalId, type LayerData } from '../layer-data.ts'
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
  /** What exists now; undefined if it was deleted. */
  current: T | undefined
  /** Undefined without a deletion, or if the feature or attachment exists. */
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

const netFeatures = (layer: LayerData, changes: readonly Change[]): NetChange<Feature>[] =>
  netChanges(changes, 'feature', (globalId) => findByGlobalId(layer, globalId))

const netAttachments = (layer: LayerData, changes: readonly Change[]): NetChange<OwnedAttachment>[] =>
  netChanges(changes, 'attachment', (globalId) => findAttachment(layer, globalId))

/** The features or attachments of a layer that a request wants. */
interface Selection<T> {
  adds: T[]
  updates: T[]
  deletions: Change[]
  /** What was updated and is not among the adds, whether or not the request wants it. */
  updated: { current: T; changes: readonly Change[] }[]
}

/** Selects changes. What was inserted and updated is among the adds, if these are wanted. */
function select<T>(
  net: readonly NetChange<T>[],
  passesFilter: (current: T) => boolean,
  wanted: ExtractRequest,
): Selection<T> {
  const selected: Selection<T> = { adds: [], updates: [], deletions: [], updated: [] }
  for (const { current, deletion, isInserted, updates } of net) {
    if (deletion && wanted.deletes) selected.deletions.push(deletion)
    if (!current || !passesFilter(current)) continue
    if (isInserted && wanted.inserts) {
      selected.adds.push(current)
    } else if (updates.length > 0) {
      selected.updated.push({ current, changes: updates })
      if (wanted.updates) selected.updates.push(current)
    }
  }
  return selected
}

function toFeatureEdits(
  layer: LayerData,
  { adds, updates, deletions, updated }: Selection<Feature>,
  { fieldsToCompare, updates: wantsUpdates, idsOnly, deletedFeatures }: ExtractRequest,
): object {
  const names = new Set(fieldsToCompare?.map((name) => findField(layer, name)?.name))
  const isCompared = ({ fields = [] }: Change): boolean => fields.some((name) => names.has(name))
  const changed = wantsUpdates ? updated.filter(({ changes }) => changes.some(isCompared)) : []
  const compared = fieldsToCompare ? { fieldUpdates: idsOf(changed.map(({ current }) => current)) } : {}
  if (idsOnly)
    return {
      objectIds: { adds: idsOf(adds), updates: idsOf(updates), deletes: idsOf(deletions), ...compared },
    }
  return {
    features: {
      adds: adds.map(toRow),
      updates: updates.map(toRow),
      deleteIds: deletions.map(({ globalId }) => globalId),
      ...(deletedFeatures ? { deletes: deletions.flatMap(({ row }) => (row ? [toRow(row)] : [])) } : {}),
      ...compared,
    },
  }
}

const idsOf = (list: readonly Pick<Feature, 'objectId'>[]): number[] => list.map(({ objectId }) => objectId)

const toRow = ({ attributes, geometry }: Pick<Feature, 'attributes' | 'geometry'>): object =>
  geometry ? { geometry, attributes } : { attributes }

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

export interface ChangeDocument {
  body: object
  hasEdits: boolean
}

/**
 * Creates the change document of a request: the current state of each feature that changed in the window of its layer.
 */
export function createDocument({
  data,
  request,
  serviceUrl,
  isEmpty,
}: {
  data: FeatureData
  request: ExtractRequest
  serviceUrl: string
  isEmpty: boolean
}): ChangeDocument {
  const changed = request.windows.map(
    (window): ChangedLayer => ({
      layer: data.layers.get(window.id) as LayerData,
      changes: isEmpty ? [] : data.changes(window, window.id),
    }),
  )
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
}

function toEdits(
  { layer, changes }: ChangedLayer,
  request: ExtractRequest,
  serviceUrl: string,
): ChangeDocument {
  const filter = request.filters.get(layer.id)
  const passesFilter = ({ objectId }: Feature): boolean => !filter || filter.has(objectId)
  const features = select(netFeatures(layer, changes), passesFilter, request)
  const netFiles = request.attachments ? netAttachments(layer, changes) : []
  const files = select(netFiles, ({ feature }) => passesFilter(feature), request)
  const toFile = (file: OwnedAttachment): object =>
    toAttachment(file, request.attachmentsByUrl ? `${serviceUrl}/${layer.id}` : undefined)
  const attachments = {
    adds: files.adds.map(toFile),
    updates: files.updates.map(toFile),
    deleteIds: files.deletions.map(({ attachmentGlobalId }) => attachmentGlobalId),
  }
  const hasGeometryUpdates = features.updated.some(({ changes }) =>
    changes.some(({ movesGeometry }) => movesGeometry),
  )
  const body = {
    id: layer.id,
    ...toFeatureEdits(layer, features, request),
    ...(request.attachments && { attachments }),
    ...(request.hasGeometryUpdates && { hasGeometryUpdates }),
  }
  const lists = [features, files].flatMap(({ adds, updates, deletions }) => [adds, updates, deletions])
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

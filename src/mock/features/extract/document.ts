import { AdminError } from '../../http/errors.ts'
import type { FeatureData } from '../feature-data.ts'
import type { Layer } from '../model.ts'
import { extentOf } from './extent.ts'
import { geometriesOf, selectFeatures, toAttachmentEdits, toFeatureEdits } from './layer-edits.ts'
import { netAttachments, type OwnedAttachment } from './net-changes.ts'
import type { ExtractRequest } from './request.ts'

/** Maximum size of a change document in bytes. */
export const MAX_DOCUMENT: number = 64 * 1024 * 1024

/** A change document. */
export interface ChangeDocument {
  body: object
  hasEdits: boolean
}

/** Options of {@link createDocument}. */
export interface DocumentOptions {
  data: Pick<FeatureData, 'layers' | 'changes'>
  request: ExtractRequest
  /** The URL of the service, without a slash at its end. */
  serviceUrl: string
  /** True to leave out all edits. */
  isEmpty?: boolean | undefined
}

/**
 * Creates the change document of a request: the current state of each feature that changed in the window of its layer.
 *
 * @throws {AdminError} 400 if the attachments in it are too large
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

/** Checks the size before the bytes are copied. @throws {AdminError} 400 */
function requireSmallAttachments(changed: readonly ChangedLayer[], request: ExtractRequest): void {
  if (!request.attachments || request.attachmentsByUrl) return
  let bytes = 0
  for (const { layer, changes } of changed)
    for (const { current } of netAttachments(layer, changes)) bytes += current?.attachment.size ?? 0
  if (bytes * 1.4 > MAX_DOCUMENT) throw tooLarge()
}

/** @throws {AdminError} 400 if the document is larger than {@link MAX_DOCUMENT} */
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

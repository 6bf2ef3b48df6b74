import type { Reference } from './edits.ts'
import type { Attachment, Feature, Layer } from './model.ts'
import { Overlay } from './overlay.ts'

/** A layer with the indexes that edits use. */
export interface LayerData extends Layer {
  readonly features: Map<number, Feature>
  /** Object ids by global id. */
  readonly globalIds: Map<string, number>
  /** Object ids of the features that attachments belong to, by attachment id and by global id of the attachment. */
  readonly owners: Map<Reference, number>
  /** Ids are never used twice, even if a request is rolled back. */
  nextObjectId: number
  nextAttachmentId: number
}

/** Adds empty indexes to a layer, and then its features. */
export function toLayerData(
  layer: Omit<Layer, 'features'>,
  features: Iterable<Feature> = [],
  next: { objectId?: number; attachmentId?: number } = {},
): LayerData {
  const data: LayerData = {
    ...layer,
    features: new Map(),
    globalIds: new Map(),
    owners: new Map(),
    nextObjectId: next.objectId ?? 1,
    nextAttachmentId: next.attachmentId ?? 1,
  }
  const staged = stage(data)
  for (const feature of features) {
    staged.put(feature)
    data.nextObjectId = Math.max(data.nextObjectId, feature.objectId + 1)
    for (const id of feature.attachments.keys())
      data.nextAttachmentId = Math.max(data.nextAttachmentId, id + 1)
  }
  staged.commit()
  return data
}

/** A layer with edits that are not applied yet. */
export interface StagedLayer {
  readonly layer: LayerData
  readonly size: number
  /** Bytes of attachments that the edits add; negative if they free some. */
  readonly addedBytes: number
  get(objectId: number): Feature | undefined
  /** @param globalId in the form of `toGlobalId` */
  withGlobalId(globalId: string): Feature | undefined
  /** Finds an attachment by its id or its global id. */
  attachment(reference: Reference): { feature: Feature; attachment: Attachment } | undefined
  put(feature: Feature): void
  remove(feature: Feature): void
  commit(): void
}

export function stage(layer: LayerData): StagedLayer {
  const features = new Overlay(layer.features)
  const globalIds = new Overlay(layer.globalIds)
  const owners = new Overlay(layer.owners)
  let addedBytes = 0

  function index({ objectId, attachments }: Feature, isThere: boolean): void {
    for (const { id, globalId, size } of attachments.values()) {
      addedBytes += isThere ? size : -size
      for (const key of [id, globalId]) {
        if (isThere) owners.set(key, objectId)
        else owners.delete(key)
      }
    }
  }

  return {
    layer,
    get size() {
      return features.size
    },
    get addedBytes() {
      return addedBytes
    },
    get: (objectId) => features.get(objectId),
    withGlobalId: (globalId) => features.get(globalIds.get(globalId) ?? -1),
    attachment(reference) {
      const feature = features.get(owners.get(reference) ?? -1)
      const attachment = [...(feature?.attachments.values() ?? [])].find(
        ({ id, globalId }) => id === reference || globalId === reference,
      )
      return feature && attachment && { feature, attachment }
    },
    put(feature) {
      const before = features.get(feature.objectId)
      if (before && before.attachments !== feature.attachments) index(before, false)
      if (before?.attachments !== feature.attachments) index(feature, true)
      features.set(feature.objectId, feature)
      globalIds.set(feature.globalId, feature.objectId)
    },
    remove(feature) {
      index(feature, false)
      features.delete(feature.objectId)
      globalIds.delete(feature.globalId)
    },
    commit() {
      features.commit()
      globalIds.commit()
      owners.commit()
    },
  }
}

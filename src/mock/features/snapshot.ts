import { type LayerData, toLayerData } from './layer-data.ts'
import type { Attachment, Attributes, Change, Feature, Geometry, Layer } from './model.ts'

/** The layers of a feature service and their history, as JSON. */
export interface FeatureDataSnapshot {
  generation: number
  minGeneration: number
  layers: LayerSnapshot[]
  changes: Change[]
}

/** The feature data of one service in a snapshot of a mock. */
export interface ServiceDataSnapshot extends FeatureDataSnapshot {
  folderName: string
  serviceName: string
}

/** A layer as JSON. */
export interface LayerSnapshot extends Omit<Layer, 'features' | 'geometryType'> {
  /** Absent for a table. */
  geometryType?: Layer['geometryType']
  nextObjectId: number
  nextAttachmentId: number
  features: {
    objectId: number
    globalId: string
    attributes: Attributes
    geometry?: Geometry | undefined
    /** `data` is base64. */
    attachments?: (Omit<Attachment, 'bytes' | 'size'> & { data: string })[] | undefined
  }[]
}

/** @returns JSON that shares objects with the data; copy it before giving it away */
export function toDataSnapshot(
  layers: Iterable<LayerData>,
  { changes, ...generations }: { generation: number; minGeneration: number; changes: readonly Change[] },
): FeatureDataSnapshot {
  return { ...generations, layers: Array.from(layers, toLayerSnapshot), changes: [...changes] }
}

function toLayerSnapshot({ features, globalIds: _, owners: __, ...layer }: LayerData): LayerSnapshot {
  return {
    ...layer,
    features: Array.from(features.values(), ({ objectId, globalId, attributes, geometry, attachments }) => ({
      objectId,
      globalId,
      attributes,
      ...(geometry ? { geometry } : {}),
      ...(attachments.size === 0
        ? {}
        : { attachments: Array.from(attachments.values(), toAttachmentSnapshot) }),
    })),
  }
}

const toAttachmentSnapshot = ({
  bytes,
  size: _,
  ...attachment
}: Attachment): Omit<Attachment, 'bytes' | 'size'> & { data: string } => ({
  ...attachment,
  data: Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64'),
})

/** @returns the layers of a snapshot, which share no objects with it */
export const fromLayerSnapshots = (layers: readonly LayerSnapshot[]): LayerData[] =>
  structuredClone(layers).map(({ features, nextObjectId, nextAttachmentId, geometryType, ...layer }) =>
    toLayerData({ ...layer, geometryType }, features.map(toFeature), {
      objectId: nextObjectId,
      attachmentId: nextAttachmentId,
    }),
  )

function toFeature({ attachments = [], geometry, ...feature }: LayerSnapshot['features'][number]): Feature {
  const files = attachments.map(({ data, ...attachment }): [number, Attachment] => {
    const bytes = Uint8Array.from(Buffer.from(data, 'base64'))
    return [attachment.id, { ...attachment, size: bytes.length, bytes }]
  })
  return { ...feature, geometry, attachments: new Map(files) }
}

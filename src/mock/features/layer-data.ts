import { type EditContext, EditError, type Reference } from './edits.ts'
import { Overlay } from './geometry.ts'
import {
  type Attachment,
  type Attributes,
  type Change,
  type Feature,
  type Field,
  type FieldType,
  findField,
  type Geometry,
  type Layer,
  MAX_TEXT,
  toGlobalId,
  toIdText,
  type Value,
} from './model.ts'

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

/** The id of the feature that a row names: its object id or, with `useGlobalIds`, its global id. */
export function idOf(
  { layer }: StagedLayer,
  attributes: Readonly<Record<string, unknown>>,
  { useGlobalIds }: Pick<EditContext, 'useGlobalIds'>,
): unknown {
  const wanted = useGlobalIds ? layer.systemFields.globalId : layer.systemFields.objectId
  const name = Object.keys(attributes).find((name) => findField(layer, name)?.name === wanted)
  if (name !== undefined) return attributes[name]
  throw useGlobalIds
    ? new EditError(1020, 'Missing GlobalID.')
    : new EditError(1011, `Object is missing: there is no ${wanted}.`)
}

/** Finds a feature by its object id or its global id; with `useGlobalIds`, only by its global id. */
export function find(
  staged: StagedLayer,
  id: unknown,
  { useGlobalIds }: Pick<EditContext, 'useGlobalIds'>,
): Feature {
  const globalId = toGlobalId(id)
  const objectId = toObjectId(id)
  const feature =
    useGlobalIds || globalId !== undefined ? staged.withGlobalId(globalId ?? '') : staged.get(objectId ?? -1)
  if (feature) return feature
  throw new EditError(1011, `Object is missing: ${JSON.stringify(toIdText(id).slice(0, 64))}.`, {
    objectId: objectId ?? null,
    globalId: globalId ?? null,
  })
}

/** Reads an object id, which a parameter writes as a text. */
function toObjectId(id: unknown): number | undefined {
  const isNumber = typeof id === 'number' || (typeof id === 'string' && /^\d{1,15}$/.test(id))
  return isNumber && Number.isSafeInteger(Number(id)) ? Number(id) : undefined
}

/** Reads the global id that an added row brings. */
export function newGlobalId(staged: StagedLayer, attributes: Readonly<Record<string, unknown>>): string {
  const given = idOf(staged, attributes, { useGlobalIds: true })
  if (given === null || given === '') throw new EditError(1021, 'Empty GlobalID.')
  const globalId = toGlobalId(given)
  if (globalId === undefined)
    throw new EditError(1016, 'Setting of value for GlobalID failed. It must be a UUID.')
  if (staged.withGlobalId(globalId))
    throw new EditError(
      1022,
      'Unique constraint violation error on inserting the value: the GlobalID exists.',
    )
  return globalId
}

const INTEGERS: Partial<Record<FieldType, number>> = {
  esriFieldTypeSmallInteger: 32_767,
  esriFieldTypeInteger: 2_147_483_647,
  esriFieldTypeBigInteger: Number.MAX_SAFE_INTEGER,
  esriFieldTypeDate: 8.64e15,
  esriFieldTypeOID: Number.MAX_SAFE_INTEGER,
}

/** Checks a value of an attribute. */
export function readValue(field: Field, value: unknown): Value {
  const { name, type, nullable, length = MAX_TEXT } = field
  if (value === null) {
    if (nullable) return null
    throw new EditError(1001, `Field: ${name} is not nullable. Cannot set null value.`)
  }
  const limit = INTEGERS[type]
  if (limit !== undefined) {
    if (Number.isInteger(value) && Math.abs(value as number) <= limit) return value as number
    throw cannotSet(
      name,
      type === 'esriFieldTypeDate' ? 'milliseconds since 1970' : `a whole number up to ${limit}`,
    )
  }
  if (type === 'esriFieldTypeDouble' || type === 'esriFieldTypeSingle') {
    if (typeof value === 'number' && Number.isFinite(value)) return value
    throw cannotSet(name, 'a number')
  }
  if (type === 'esriFieldTypeGUID' || type === 'esriFieldTypeGlobalID') {
    const id = toGlobalId(value)
    if (id !== undefined) return id
    throw cannotSet(name, 'a UUID')
  }
  if (typeof value === 'string' && value.length <= length) return value
  throw cannotSet(name, `a text of at most ${length} characters`)
}

const cannotSet = (name: string, rule: string): EditError =>
  new EditError(1016, `Setting of value for ${name} failed. It must be ${rule}.`)

/**
 * Checks the attributes of a row. Names are compared without regard to case.
 *
 * @returns the values of editable fields, by the name of the field
 */
export function readAttributes(
  { fields }: Pick<Layer, 'fields'>,
  attributes: Readonly<Record<string, unknown>>,
): Record<string, Value> {
  const byName = new Map(fields.map((field) => [field.name.toLowerCase(), field]))
  const values: Record<string, Value> = {}
  for (const [name, value] of Object.entries(attributes)) {
    const field = byName.get(name.toLowerCase())
    if (!field) throw new EditError(1000, `The layer has no field ${JSON.stringify(name.slice(0, 64))}.`)
    if (field.editable) values[field.name] = readValue(field, value)
  }
  return values
}

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

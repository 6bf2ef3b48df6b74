import { quote } from '../http/errors.ts'
import { type EditContext, EditError, type Reference } from './edit-types.ts'
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
  toBase64,
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
  const staged = new StagedLayer(data)
  for (const feature of features) {
    staged.put(feature)
    data.nextObjectId = Math.max(data.nextObjectId, feature.objectId + 1)
    for (const id of feature.attachments.keys())
      data.nextAttachmentId = Math.max(data.nextAttachmentId, id + 1)
  }
  staged.commit()
  return data
}

/** Changes to a map that are applied together, or dropped. */
class Overlay<K, V> {
  readonly #base: Map<K, V>
  readonly #changes = new Map<K, V | undefined>()
  size: number

  constructor(base: Map<K, V>) {
    this.#base = base
    this.size = base.size
  }

  get(key: K): V | undefined {
    return this.#changes.has(key) ? this.#changes.get(key) : this.#base.get(key)
  }

  set(key: K, value: V): void {
    if (this.get(key) === undefined) this.size += 1
    this.#changes.set(key, value)
  }

  delete(key: K): void {
    if (this.get(key) !== undefined) this.size -= 1
    this.#changes.set(key, undefined)
  }

  /** Applies the changes. Keys that exist keep their place in the order of the map. */
  commit(): void {
    for (const [key, value] of this.#changes) {
      if (value === undefined) this.#base.delete(key)
      else this.#base.set(key, value)
    }
  }
}

/** A layer with edits that are not applied yet. */
export class StagedLayer {
  readonly layer: LayerData
  readonly features: Overlay<number, Feature>
  readonly globalIds: Overlay<string, number>
  readonly owners: Overlay<Reference, number>
  /** Bytes of attachments that the edits add; negative if they free some. */
  addedBytes = 0

  constructor(layer: LayerData) {
    this.layer = layer
    this.features = new Overlay(layer.features)
    this.globalIds = new Overlay(layer.globalIds)
    this.owners = new Overlay(layer.owners)
  }

  put(feature: Feature): void {
    this.#index(this.features.get(feature.objectId), feature)
    this.features.set(feature.objectId, feature)
    this.globalIds.set(feature.globalId, feature.objectId)
  }

  remove(feature: Feature): void {
    this.#index(feature, undefined)
    this.features.delete(feature.objectId)
    this.globalIds.delete(feature.globalId)
  }

  /** Replaces the attachments of a feature in the index. */
  #index(before: Feature | undefined, after: Feature | undefined): void {
    if (before?.attachments === after?.attachments) return
    for (const { id, globalId, size } of before?.attachments.values() ?? []) {
      this.addedBytes -= size
      for (const key of [id, globalId]) this.owners.delete(key)
    }
    for (const { id, globalId, size } of after?.attachments.values() ?? []) {
      this.addedBytes += size
      for (const key of [id, globalId]) this.owners.set(key, after?.objectId ?? -1)
    }
  }

  commit(): void {
    this.features.commit()
    this.globalIds.commit()
    this.owners.commit()
  }
}

type Lookup = Pick<LayerData, 'features' | 'globalIds' | 'owners'> | StagedLayer

/** @param globalId in the form of `toGlobalId` */
export const findByGlobalId = ({ features, globalIds }: Lookup, globalId: string): Feature | undefined =>
  features.get(globalIds.get(globalId) ?? -1)

export function findAttachment(
  { features, owners }: Lookup,
  reference: Reference,
): { feature: Feature; attachment: Attachment } | undefined {
  const feature = features.get(owners.get(reference) ?? -1)
  const attachment = [...(feature?.attachments.values() ?? [])].find(
    ({ id, globalId }) => id === reference || globalId === reference,
  )
  return feature && attachment && { feature, attachment }
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
  const globalId = toGlobalId(id) ?? null
  const objectId = toObjectId(id)
  const feature =
    useGlobalIds || globalId !== null
      ? findByGlobalId(staged, globalId ?? '')
      : staged.features.get(objectId ?? -1)
  if (feature) return feature
  throw new EditError(1011, `Object is missing: ${quote(toIdText(id))}.`, {
    objectId,
    globalId,
  })
}

/** Reads an object id, which a parameter writes as a text. */
function toObjectId(id: unknown): number | null {
  const isNumber = typeof id === 'number' || (typeof id === 'string' && /^\d{1,15}$/.test(id))
  return isNumber && Number.isSafeInteger(Number(id)) ? Number(id) : null
}

/** Reads the global id that an added row brings. */
export function newGlobalId(staged: StagedLayer, attributes: Readonly<Record<string, unknown>>): string {
  const given = idOf(staged, attributes, { useGlobalIds: true })
  if (given === null || given === '') throw new EditError(1021, 'Empty GlobalID.')
  const globalId = toGlobalId(given)
  if (globalId === undefined)
    throw new EditError(1016, 'Setting of value for GlobalID failed. It must be a UUID.')
  if (findByGlobalId(staged, globalId)) throw globalIdExists()
  return globalId
}

export const globalIdExists = (): EditError =>
  new EditError(1022, 'Unique constraint violation error on inserting the value: the GlobalID exists.')

const INTEGERS: Partial<Record<FieldType, number>> = {
  esriFieldTypeSmallInteger: 32_767,
  esriFieldTypeInteger: 2_147_483_647,
  esriFieldTypeBigInteger: Number.MAX_SAFE_INTEGER,
  esriFieldTypeDate: 8.64e15,
  esriFieldTypeOID: Number.MAX_SAFE_INTEGER,
}

export function readValue(field: Field, value: unknown): Value {
  const { name, type, nullable, length = MAX_TEXT } = field
  if (value === null && nullable) return null
  if (value === null) throw new EditError(1001, `Field: ${name} is not nullable. Cannot set null value.`)
  const fail = (rule: string): never => {
    throw new EditError(1016, `Setting of value for ${name} failed. It must be ${rule}.`)
  }
  const limit = INTEGERS[type]
  if (limit !== undefined) {
    if (Number.isInteger(value) && Math.abs(value as number) <= limit) return value as number
    return fail(type === 'esriFieldTypeDate' ? 'milliseconds since 1970' : `a whole number up to ${limit}`)
  }
  if (type === 'esriFieldTypeDouble' || type === 'esriFieldTypeSingle')
    return Number.isFinite(value) ? (value as number) : fail('a number')
  if (type !== 'esriFieldTypeString') return toGlobalId(value) ?? fail('a UUID')
  return typeof value === 'string' && value.length <= length
    ? value
    : fail(`a text of at most ${length} characters`)
}

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
    if (!field) throw new EditError(1000, `The layer has no field ${quote(name)}.`)
    if (field.editable) values[field.name] = readValue(field, value)
  }
  return values
}

/** The feature data of one service in a snapshot of a mock. */
export interface ServiceDataSnapshot {
  folderName: string
  serviceName: string
  generation: number
  minGeneration: number
  layers: LayerSnapshot[]
  changes: Change[]
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

/** @returns JSON that shares objects with the layer; copy it before giving it away */
export const toLayerSnapshot = ({
  features,
  globalIds: _,
  owners: __,
  ...layer
}: LayerData): LayerSnapshot => ({
  ...layer,
  features: Array.from(features.values(), ({ geometry, attachments, ...feature }) => ({
    ...feature,
    ...(geometry && { geometry }),
    ...(attachments.size > 0 && {
      attachments: Array.from(attachments.values(), ({ bytes, size: _, ...attachment }) => ({
        ...attachment,
        data: toBase64(bytes),
      })),
    }),
  })),
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

import { z } from 'zod'
import { configInvalid } from '../../errors.ts'
import { check } from '../schemas.ts'
import type { AttachmentAdd, AttachmentDelete } from './edits.ts'
import { MAX_EDITS } from './limits.ts'
import type { Layer } from './model.ts'
import { createRandom, type Random } from './random.ts'
import { createGeometry, moveGeometry } from './random-geometry.ts'
import { canHaveValue, createValue, type RandomField } from './random-values.ts'

/** A layer to edit: its description in the JSON of its service, and its features in that of a query. */
export interface RandomLayer {
  id: number
  /** Absent for a table. */
  geometryType?: string | undefined
  objectIdField: string
  fields: readonly RandomField[]
  /** Whether features get attachments. Default false. */
  hasAttachments?: boolean | undefined
  /** The features that can be updated and deleted. */
  features: readonly RandomFeature[]
}

/** A feature of a {@link RandomLayer}. */
export interface RandomFeature {
  /** At least the object id. */
  attributes: Readonly<Record<string, unknown>>
  geometry?: object | undefined
  /** Ids of its attachments. Default: none. */
  attachments?: readonly number[] | undefined
}

/** Options of {@link createRandomEdits}. */
export interface RandomEditOptions {
  /** A whole number from 0 to 2³² - 1. The same seed gives the same edits of the same features. */
  seed: number
  /** Number of edits, 1 to 2000. Default 10. */
  count?: number | undefined
}

/** Edits of one layer, for `applyEdits`. */
export interface RandomEdits {
  layerId: number
  adds: { attributes: Record<string, string | number | null>; geometry?: object }[]
  updates: { attributes: Record<string, string | number | null>; geometry?: object }[]
  /** Object ids. */
  deletes: number[]
  attachments: { adds: AttachmentAdd[]; deletes: AttachmentDelete[] }
}

const MAX_SEED = 2 ** 32 - 1
const optionsSchema = z.strictObject({
  seed: z.int().min(0).max(MAX_SEED),
  count: z.int().min(1).max(MAX_EDITS).optional(),
})

/**
 * Creates random edits of layers: added features, changed attributes, moved geometries, deleted features, and added and
 * deleted attachments. Each existing feature gets at most one of them, so that no edit refers to a deleted feature.
 *
 * @returns the edits of each layer, which one call of `applyEdits` can apply
 * @throws {WebhookError} `config_invalid` for an invalid option, or if there is no layer
 * @example
 * ```ts
 * import { createRandomEdits } from 'geohook/mock'
 *
 * const fields = [{ name: 'kind', type: 'esriFieldTypeString', length: 20 }]
 * const layer = { id: 0, geometryType: 'esriGeometryPoint', objectIdField: 'OBJECTID', fields, features: [] }
 * const [edits] = createRandomEdits([layer], { seed: 7, count: 20 })
 * console.log(edits?.adds.length) // 20
 * ```
 */
export function createRandomEdits(layers: readonly RandomLayer[], options: RandomEditOptions): RandomEdits[] {
  const { seed, count = 10 } = check<RandomEditOptions>(optionsSchema, options, 'options')
  if (layers.length === 0) throw configInvalid('there must be a layer to edit')
  const random = createRandom(seed)
  const targets = layers.map((layer) => createTarget(layer))
  for (let index = 0; index < count; index += 1) addEdit(random, random.pick(targets))
  return targets.map(({ edits }) => edits)
}

interface Target {
  layer: RandomLayer
  edits: RandomEdits
  fields: readonly RandomField[]
  /** Features without an edit so far. */
  left: RandomFeature[]
  geometries: readonly object[]
}

const createTarget = (layer: RandomLayer): Target => ({
  layer,
  edits: { layerId: layer.id, adds: [], updates: [], deletes: [], attachments: { adds: [], deletes: [] } },
  fields: layer.fields.filter((field) => canHaveValue(field) && field.name !== layer.objectIdField),
  left: layer.features.filter(({ attributes }) => typeof attributes[layer.objectIdField] === 'number'),
  geometries: layer.features.flatMap(({ geometry }) => (geometry ? [geometry] : [])),
})

/** Each kind as often as it stands here. */
const KINDS = ['add', 'add', 'add', 'update', 'update', 'update', 'move', 'move', 'delete', 'attach'] as const

/** Adds a feature if the drawn kind of edit is not possible. */
function addEdit(random: Random, { layer, edits, fields, left, geometries }: Target): void {
  const kind = random.pick(KINDS)
  const feature = kind === 'add' || left.length === 0 ? undefined : take(random, left)
  if (!feature) {
    const attributes = valuesOf(random, fields)
    const geometry = layer.geometryType && createGeometry(random, layer.geometryType, geometries)
    edits.adds.push({ attributes, ...(geometry ? { geometry } : {}) })
    return
  }
  const objectId = feature.attributes[layer.objectIdField] as number
  const { geometry, attachments = [] } = feature
  if (kind === 'delete') edits.deletes.push(objectId)
  else if (kind === 'attach' && layer.hasAttachments) {
    if (attachments.length > 0 && random.chance(0.5))
      edits.attachments.deletes.push({ parent: objectId, attachment: random.pick(attachments) })
    else edits.attachments.adds.push(createAttachment(random, objectId))
  } else if (kind === 'move' && geometry)
    edits.updates.push({
      attributes: { [layer.objectIdField]: objectId },
      geometry: moveGeometry(random, geometry),
    })
  else {
    const changed = fields.filter(() => random.chance(0.5))
    const some = changed.length > 0 || fields.length === 0 ? changed : [random.pick(fields)]
    edits.updates.push({ attributes: { [layer.objectIdField]: objectId, ...valuesOf(random, some) } })
  }
}

/** Removes an entry from a list, in constant time. */
function take<T>(random: Random, list: T[]): T {
  const index = random.whole(0, list.length - 1)
  const taken = list[index] as T
  const last = list.pop() as T
  if (index < list.length) list[index] = last
  return taken
}

const valuesOf = (random: Random, fields: readonly RandomField[]): Record<string, string | number | null> =>
  Object.fromEntries(fields.map((field) => [field.name, createValue(random, field)]))

function createAttachment(random: Random, parent: number): AttachmentAdd {
  const number = random.whole(1, 999)
  const text = `note ${number}\n`.repeat(random.whole(1, 20))
  return {
    parent,
    name: `note-${number}.txt`,
    contentType: 'text/plain',
    bytes: new TextEncoder().encode(text),
  }
}

/** A layer of the mock in the form of {@link createRandomEdits}. */
export const toRandomLayer = ({ systemFields, features, ...layer }: Layer): RandomLayer => ({
  ...layer,
  objectIdField: systemFields.objectId,
  features: Array.from(features.values(), ({ attributes, geometry, attachments }) => ({
    attributes,
    geometry,
    attachments: [...attachments.keys()],
  })),
})

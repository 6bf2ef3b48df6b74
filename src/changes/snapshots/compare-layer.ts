import { configInvalid } from '../../errors.ts'
import { type KnownRow, MAX_BATCH, type NewRow } from '../../inbox/rows.ts'
import type { Feature, LayerChanges } from '../types.ts'
import { differences, isEqual } from './differences.ts'
import { createGlobalIdReader, createIdReader, type FeatureIds, requireUsable, toKey } from './ids.ts'
import { pause } from './store.ts'
import type { FeatureComparison } from './types.ts'

/** A feature that was added or updated. */
interface Current extends FeatureIds {
  kind: 'add' | 'update'
  feature: Feature
}

/** A deleted feature that the service sent. */
interface LastState extends FeatureIds {
  feature: Feature
}

/** A feature that was deleted. */
interface Removed extends FeatureIds {
  lastState: Feature | undefined
  /** False if nothing says which feature has the deleted id. */
  isFound: boolean
}

/** The changed features of a layer by their ids. */
export interface ChangedFeatures {
  current: ReadonlyMap<string, Current>
  /** Ids of deleted features: global ids or object ids, or keys of a field that is one of them. */
  deletedIds: readonly string[]
  /** The last states of deleted features, as the service sent them, by key, object id and global id. */
  lastStates: ReadonlyMap<string, LastState>
  /** The keys and object ids of the rows to read. */
  ids: { keys: string[]; objectIds: string[] }
}

export const toValue = ({ attributes, geometry }: Feature): string => JSON.stringify({ attributes, geometry })

/** @throws {WebhookError} `config_invalid`, `changes_malformed` */
export function readChangedFeatures(layer: LayerChanges, idField: string | undefined): ChangedFeatures {
  const { id, adds, updates, deletes, objectIds } = layer
  if (objectIds)
    throw configInvalid(
      `layer ${id} of the changes has only object ids, and snapshots need whole features`,
      'Upgrade the service: version 10.6.1 cannot send features.',
    )
  const readIds = createIdReader(id, idField)
  const current = new Map<string, Current>()
  for (const feature of adds) {
    const ids = readIds(feature)
    current.set(ids.key, { ...ids, kind: 'add', feature })
  }
  for (const feature of updates) {
    const ids = readIds(feature)
    current.set(ids.key, { ...ids, kind: current.has(ids.key) ? 'add' : 'update', feature })
  }
  const lastStates = new Map<string, LastState>()
  const readGlobalId = createGlobalIdReader()
  const deleted = (deletes.features ?? []).map((feature) => ({ ...readIds(feature), feature }))
  for (const last of deleted) lastStates.set(last.key, last)
  // These win: a service never sends the value of another attribute as the id of a deleted feature.
  for (const last of deleted)
    for (const id of [last.objectId, readGlobalId(last.feature)])
      if (id !== undefined) lastStates.set(id, last)
  const deletedIds = [...new Set(deletes.ids.map(toKey))]
  for (const deletedId of deletedIds) requireUsable(id, deletedId)
  const keys = [...new Set([...current.keys(), ...deletedIds, ...deleted.map(({ key }) => key)])]
  return { current, deletedIds, lastStates, ids: { keys, objectIds: deletedIds.filter(isNumber) } }
}

/**
 * Compares the features of a layer with the rows in the store.
 *
 * @param generation of the extraction. Features whose row is of a higher generation are left out: their changes up to
 * this generation have been handled, and the extraction may be older than the row
 */
export async function compareFeatures(
  changed: ChangedFeatures,
  rows: readonly KnownRow[],
  generation: number,
): Promise<{ features: FeatureComparison[]; rows: NewRow[] }> {
  const known = new Map(rows.map((row) => [row.key, row]))
  const features: FeatureComparison[] = []
  const written: NewRow[] = []
  const current = new Map(changed.current)
  const removed = findDeleted(changed, rows)
  for (const { key } of removed) current.delete(key)
  for (const { key, objectId, kind, feature: after } of current.values()) {
    const row = known.get(key)
    if (row && row.generation > generation) continue
    const value = toValue(after)
    written.push({ key, objectId, value })
    features.push({ id: key, kind, ...compareWith(row?.value, value, after) })
    if (features.length % MAX_BATCH === 0) await pause()
  }
  for (const { key, objectId, lastState, isFound } of removed) {
    const row = isFound ? known.get(key) : undefined
    if (row && row.generation > generation) continue
    // The row of a deleted feature stays, so that an older extraction does not bring the feature back.
    if (isFound || !known.has(key)) written.push({ key, objectId, value: undefined })
    const before = row ? parse(row.value) : lastState
    features.push({ id: key, kind: 'delete', ...(before && { before }) })
    if (features.length % MAX_BATCH === 0) await pause()
  }
  return { features, rows: written }
}

/** Finds the deleted features: those with deleted ids that no longer exist. */
function findDeleted(
  { current, deletedIds, lastStates }: ChangedFeatures,
  rows: readonly KnownRow[],
): Removed[] {
  const byId = new Map<string, FeatureIds>()
  const add = ({ key, objectId }: FeatureIds): void => {
    // A number is an object id, and not the value of another attribute.
    if (objectId === undefined || !isNumber(key)) byId.set(key, { key, objectId })
    if (objectId !== undefined) byId.set(objectId, { key, objectId })
  }
  // The last one wins. Object ids can be reused: a deletion is of the feature that had the id before, if it is known.
  for (const row of rows) if (row.value === undefined) add(row)
  for (const feature of current.values()) add(feature)
  for (const row of rows) if (row.value !== undefined) add(row)
  const found = new Map<string, Removed>()
  for (const id of deletedIds) {
    const last = lastStates.get(id)
    const lastObjectId = last && (last.objectId ?? last.key)
    const ids = (lastObjectId === id ? last : undefined) ?? byId.get(id) ?? last
    const { key, objectId } = ids ?? { key: id, objectId: undefined }
    // A feature that was deleted and added again with the same global id has another object id.
    const now = current.get(key)
    if (now && (now.objectId ?? key) !== (isNumber(id) ? id : lastObjectId)) continue
    found.set(key, { key, objectId, lastState: last?.feature, isFound: ids !== undefined })
  }
  return [...found.values()]
}

function compareWith(
  known: string | undefined,
  value: string,
  after: Feature,
): Omit<FeatureComparison, 'id' | 'kind'> {
  const before = parse(known)
  if (!before) return { after }
  if (known === value) return { before, after, changed: [], moved: false }
  return {
    before,
    after,
    changed: differences(before.attributes, after.attributes),
    moved: !isEqual(before.geometry, after.geometry),
  }
}

const parse = (value: string | undefined): Feature | undefined =>
  value === undefined ? undefined : (JSON.parse(value) as Feature)

const isNumber = (id: string): boolean => /^\d+$/.test(id)

import { withCauses } from '#runtime'
import { configInvalid, WebhookError } from '../errors.ts'
import { type KnownRow, MAX_BATCH, type NewRow, type RowLayer, type RowStore } from '../inbox/rows.ts'
import { abortable } from '../shared/client.ts'
import type { Feature, LayerChanges } from './types.ts'

interface LastState extends FeatureIds {
  feature: Feature
}

interface Current extends LastState {
  kind: 'add' | 'update'
}

interface Removed extends FeatureIds {
  lastState: Feature | undefined
  /** False if nothing says which feature has the deleted id. */
  isFound: boolean
}

interface ChangedFeatures {
  current: ReadonlyMap<string, Current>
  /** Ids of deleted features: global ids or object ids, or keys of a field that is one of them. */
  deletedIds: readonly string[]
  /** The last states of deleted features, as the service sent them, by key, object id and global id. */
  lastStates: ReadonlyMap<string, LastState>
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
  for (const [index, feature] of [...adds, ...updates].entries()) {
    const ids = readIds(feature)
    const isAdded = index < adds.length || current.has(ids.key)
    current.set(ids.key, { ...ids, kind: isAdded ? 'add' : 'update', feature })
  }
  const lastStates = new Map<string, LastState>()
  const findGlobalId = createFinder(GLOBAL_ID)
  const deleted = (deletes.features ?? []).map((feature) => ({ ...readIds(feature), feature }))
  for (const last of deleted) lastStates.set(last.key, last)
  // These win: a service never sends the value of another attribute as the id of a deleted feature.
  for (const last of deleted)
    for (const id of [last.objectId, findGlobalId(last.feature.attributes)])
      if (id !== undefined) lastStates.set(toKey(id), last)
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
 * @param deletedUntil the same for deletions. Features are as they are now, but all deletions were in the window
 * @param isRerun true to report these features too, as they were last handled
 */
export async function compareFeatures(
  changed: ChangedFeatures,
  rows: readonly KnownRow[],
  generation: number,
  deletedUntil: number,
  isRerun: boolean,
): Promise<{ features: FeatureComparison[]; rows: NewRow[]; deleted: NewRow[] }> {
  const known = new Map(rows.map((row) => [row.key, row]))
  const features: FeatureComparison[] = []
  const written: NewRow[] = []
  const deleted: NewRow[] = []
  const current = new Map(changed.current)
  const removed = findDeleted(changed, rows)
  for (const { key } of removed) current.delete(key)
  for (const { key, objectId, kind, feature } of current.values()) {
    const row = known.get(key)
    const newer = row && row.generation > generation ? row : undefined
    if (newer && !(isRerun && newer.value)) continue
    const after: Feature = newer?.value ? JSON.parse(newer.value) : feature
    const value = toValue(after)
    written.push({ key, objectId, value })
    features.push({ id: key, kind, ...compareWith(row?.value, value, after) })
    if (features.length % MAX_BATCH === 0) await pause()
  }
  for (const { key, objectId, lastState, isFound } of removed) {
    const row = isFound ? known.get(key) : undefined
    if (row && row.generation > deletedUntil && !(isRerun && !row.value)) continue
    // The row of a deleted feature stays, so that an older extraction does not bring the feature back.
    if (isFound || !known.has(key)) deleted.push({ key, objectId, value: undefined })
    const before: Feature | undefined = row ? row.value && JSON.parse(row.value) : lastState
    features.push({ id: key, kind: 'delete', ...(before && { before }) })
    if (features.length % MAX_BATCH === 0) await pause()
  }
  return { features, rows: written, deleted }
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
  if (known === undefined) return { after }
  const before: Feature = JSON.parse(known)
  if (known === value) return { before, after, changed: [], moved: false }
  const changed = differences(before.attributes, after.attributes).filter(
    (name) => !isSpelling(name, before.attributes[name], after.attributes[name]),
  )
  return { before, after, changed, moved: !isEqual(before.geometry, after.geometry) }
}

/** True if only the spelling of the global id differs. */
const isSpelling = (name: string, before: unknown, after: unknown): boolean =>
  GLOBAL_ID.includes(name.toLowerCase()) && toKey(String(before)) === toKey(String(after))

const isNumber = (id: string): boolean => /^\d+$/.test(id)

/** Returns the names of the members that differ. A missing member is equal to null. */
function differences(before: object, after: object): string[] {
  const names = new Set([...Object.keys(before), ...Object.keys(after)])
  return [...names].filter((name) => !isEqual(memberOf(before, name), memberOf(after, name)))
}

/** Reads only own members: an attribute may be called `constructor`. */
const memberOf = (object: object, name: string): unknown =>
  Object.hasOwn(object, name) ? (object as Record<string, unknown>)[name] : null

/** Compares two values from JSON. The order of the members of objects does not matter. */
function isEqual(one: unknown, other: unknown): boolean {
  if (one === other) return true
  if ((one ?? null) === null && (other ?? null) === null) return true
  if (typeof one !== 'object' || typeof other !== 'object' || !one || !other) return false
  if (Array.isArray(one) !== Array.isArray(other)) return false
  if (Array.isArray(one) && Array.isArray(other) && one.length !== other.length) return false
  return differences(one, other).length === 0
}

interface FeatureIds {
  key: string
  /** The object id, if the key is another id. */
  objectId: string | undefined
}

const GLOBAL_ID = ['globalid']
const OBJECT_ID = ['objectid', 'fid', 'oid']

/** Maximum length of an id, so that it fits into the index of every store. */
const MAX_LENGTH = 200

/** Services send the same global id with and without braces, and in either case. */
const toKey = (id: string): string => id.replace(/^\{|\}$/g, '').toLowerCase()

/**
 * Creates a function that finds the ids of the features of one layer.
 *
 * @param idField name of the attribute with the id. Default: the global id, or the object id of a feature without one
 * @throws {WebhookError} `changes_malformed` if a feature has no usable id
 */
export function createIdReader(layer: number, idField: string | undefined): (feature: Feature) => FeatureIds {
  const findId = createFinder(idField === undefined ? GLOBAL_ID : [idField.toLowerCase()])
  const findObjectId = createFinder(OBJECT_ID)

  return ({ attributes }) => {
    const objectId = findObjectId(attributes)
    const id = findId(attributes) ?? (idField === undefined ? objectId : undefined)
    if (id === undefined)
      throw malformed(
        `a feature of layer ${layer} has no ${idField ?? 'global id and no object id'}`,
        'Set the option idField of createSnapshots to the name of the attribute that identifies a feature.',
      )
    requireUsable(layer, id)
    const key = toKey(id)
    return { key, objectId: objectId === key ? undefined : objectId }
  }
}

/** @throws {WebhookError} `changes_malformed` */
function requireUsable(layer: number, id: string): void {
  if (id.length > MAX_LENGTH || /\p{C}/u.test(id))
    throw malformed(
      `an id of layer ${layer} is longer than ${MAX_LENGTH} characters or has control characters`,
      'Set the option idField of createSnapshots to an attribute with short ids.',
    )
}

/** Finds the value of the first of these attributes, in any case. The features of a layer have the same names. */
function createFinder(names: readonly string[]): (attributes: Record<string, unknown>) => string | undefined {
  let known: string | undefined
  return (attributes) => {
    if (known === undefined || !Object.hasOwn(attributes, known)) known = findName(attributes, names)
    const value = known === undefined ? undefined : attributes[known]
    if (typeof value === 'number') return String(value)
    return typeof value === 'string' && value !== '' ? value : undefined
  }
}

function findName(attributes: Record<string, unknown>, names: readonly string[]): string | undefined {
  const given = new Map(
    Object.keys(attributes)
      .reverse() // the first of equal names wins
      .map((name) => [name.toLowerCase(), name]),
  )
  return names.map((name) => given.get(name)).find((name) => name !== undefined)
}

const malformed = (message: string, hint: string): WebhookError =>
  new WebhookError('changes_malformed', { message, hint })

/** Maximum number of characters of JSON in one call, unless a single row is longer. */
const MAX_CHARACTERS = 1024 ** 2

export interface Writing {
  layer: RowLayer
  rows: readonly NewRow[]
  generation: number
}

/** Lets timers and sockets run: a large window would otherwise block the event loop for seconds. */
const pause = (): Promise<void> => new Promise((resolve) => setTimeout(resolve))

export async function readRows(
  store: RowStore,
  layer: RowLayer,
  ids: { keys: readonly string[]; objectIds: readonly string[] },
  signal: AbortSignal | undefined,
): Promise<KnownRow[]> {
  const rows: KnownRow[][] = []
  const length = Math.max(ids.keys.length, ids.objectIds.length)
  for (let from = 0; from < length; from += MAX_BATCH) {
    if (from > 0) await pause()
    signal?.throwIfAborted()
    const [keys, objectIds] = [ids.keys, ids.objectIds].map((list) => list.slice(from, from + MAX_BATCH))
    const reading = attempt(() => store.read(layer, keys ?? [], objectIds ?? []))
    rows.push(await (signal ? abortable(reading, signal) : reading))
  }
  return rows.flat()
}

export async function writeRows(store: RowStore, { layer, rows, generation }: Writing): Promise<void> {
  for (const batch of toBatches(rows)) await attempt(() => store.write(layer, batch, generation))
}

export const forgetRows = (store: RowStore, service: string): Promise<void> =>
  attempt(() => store.forget(service))

function* toBatches(rows: readonly NewRow[]): Generator<NewRow[]> {
  let batch: NewRow[] = []
  let characters = 0
  for (const row of rows) {
    const length = row.value?.length ?? 0
    if (batch.length === MAX_BATCH || (batch.length > 0 && characters + length > MAX_CHARACTERS)) {
      yield batch
      batch = []
      characters = 0
    }
    batch.push(row)
    characters += length
  }
  if (batch.length > 0) yield batch
}

async function attempt<Result>(call: () => Promise<Result>): Promise<Result> {
  try {
    return await call()
  } catch (cause) {
    if (cause instanceof WebhookError) throw cause
    throw new WebhookError('changes_unavailable', {
      message: `the store of the snapshots failed: ${withCauses(cause, cause instanceof Error ? cause.message : String(cause))}`,
      hint: 'Check the database that the store was created with.',
      cause,
    })
  }
}

/** A changed feature, before and after the change. */
export interface FeatureComparison<Attributes extends object = Record<string, unknown>> {
  /** The feature's global id without braces in lower case, or its object id if it has no global id. */
  id: string
  /**
   * Kind of change: `add` for a feature that was added and then updated, or deleted and then added again with the same
   * id; `delete` if it was added and then deleted.
   */
  kind: 'add' | 'update' | 'delete'
  /**
   * The feature when it was last handled. Absent if the feature is new or not known yet. For a deleted feature that is
   * not known, the last row that the service sent, with the option `deletedFeatures` of `createChanges`.
   */
  before?: Feature<Attributes>
  /** The feature now. Absent if it was deleted. */
  after?: Feature<Attributes>
  /**
   * Names of the attributes that differ; a missing attribute equals null. Braces and case of a global id do not matter.
   * Empty if the change was handled before. Absent if `before` or `after` is absent.
   */
  changed?: string[]
  /** True if the geometry differs. Absent if `before` or `after` is absent. */
  moved?: boolean
}

import { blameCaller, configInvalid } from '../errors.ts'
import { createRowsInMemory } from '../inbox/memory/rows.ts'
import type { KnownRow, NewRow, RowLayer, RowStore } from '../inbox/rows.ts'
import { checkOptions, hasMethods, must, type OptionNames, requireValue } from '../options.ts'
import { attemptPort } from '../receiver/port.ts'
import { isObject } from '../shared/json.ts'
import {
  compareFeatures,
  createIdReader,
  type FeatureComparison,
  forgetRows,
  readChangedFeatures,
  readRows,
  toValue,
  type Writing,
  writeRows,
} from './compare-layer.ts'
import { windowEndOf } from './extract.ts'
import type { Changes, Feature, LayerChanges } from './types.ts'

/** Options of {@link createSnapshots}. */
export interface SnapshotsOptions {
  /** Store of the rows, created by `createSqliteRows`, `createPostgresRows` or, for tests, `createMemoryRows`. */
  store: RowStore
  /**
   * Name of the attribute that identifies a feature. The case of the name, and braces and case of its values, are
   * ignored. Deleted features are found by their object id, by this id if services send it for them, and with the option
   * `deletedFeatures` of `createChanges` also by their global id. Default: the global id, otherwise
   * the object id.
   */
  idField?: string | undefined
}

const NAMES: OptionNames<SnapshotsOptions> = {
  store: true,
  idField: must('be the name of an attribute', (name) => typeof name === 'string' && name),
}

/**
 * Creates snapshots, which store the last handled row of each feature, so that handlers can compare features before and
 * after a change.
 *
 * @throws {WebhookError} `config_invalid`
 *
 * @example
 * ```ts
 * import { createReceiver } from 'geohook'
 * import { createChanges, createSnapshots } from 'geohook/changes'
 * import { createMemoryRows } from 'geohook/inbox'
 *
 * const changes = createChanges({ token: 'secret', origins: ['https://gis.example.com'] })
 * const snapshots = createSnapshots({ store: createMemoryRows() })
 *
 * createReceiver({ signatureKey: 'test' }).on('FeaturesEdited', async (event, delivery, context) => {
 *   const layers = await snapshots.compare(await changes.of(event, context), context)
 *   for (const { features } of layers)
 *     for (const { id, kind, before, after, changed } of features) console.log(id, kind, before, after, changed)
 * })
 * ```
 */
export function createSnapshots(options: SnapshotsOptions): Snapshots {
  const { store, idField } = blameCaller(createSnapshots, () => readOptions(options))
  /** The attempts by their `onSuccess`, because a signal can outlive an attempt. */
  const attempts = new WeakMap<object, ReturnType<typeof createCompare>>()

  return {
    async compare<Attributes extends object>(changes: Changes<Attributes>, context: SnapshotsContext) {
      requireArguments(changes, context)
      const compare = attempts.get(context.onSuccess) ?? createCompare(store, idField)
      attempts.set(context.onSuccess, compare)
      return compare(changes as unknown as Changes, context) as Promise<LayerComparison<Attributes>[]>
    },
    async fill(service, layerId, features, generation = 0) {
      if (!Number.isSafeInteger(layerId) || !Number.isSafeInteger(generation))
        throw configInvalid(
          'fill(service, layerId, features, generation): layerId and generation must be integers',
        )
      if (!Array.isArray(features) || !features.every(isFeature))
        throw configInvalid('fill(): features must be an array of objects with the member attributes')
      const layer = { service: readService(service), id: layerId }
      await writeRows(store, { layer, rows: toRows(layerId, features, idField), generation })
    },
    async forget(service) {
      await forgetRows(store, readService(service))
    },
  }
}

const isRowStore = must(
  'be a store of rows, for example createSqliteRows({ path })',
  (store) => hasMethods('read', 'write', 'forget')(store) === undefined,
)

function readOptions(options: SnapshotsOptions): SnapshotsOptions {
  const { store, idField } = checkOptions(options, NAMES)
  requireValue('store', store, isRowStore)
  return { store, idField }
}

function requireArguments(changes: unknown, context: Partial<SnapshotsContext> | undefined): void {
  if (!Array.isArray((changes as Changes | undefined)?.layers))
    throw configInvalid('compare(changes, context): changes must be the result of changes.of()')
  if (typeof context?.onSuccess !== 'function')
    throw configInvalid(
      'compare(changes, context) needs the function onSuccess',
      'Pass the third argument of the handler as a whole: compare(changes, context).',
    )
}

const isFeature = (value: unknown): boolean => isObject(value) && isObject(value.attributes)

/** Spells the URL of a service as `changes.of` does. */
function readService(service: string): string {
  const url = typeof service === 'string' && URL.canParse(service) ? new URL(service) : undefined
  if (!url || url.search || url.hash || /\/FeatureServer\/\d+\/?$/i.test(url.pathname))
    throw configInvalid('service must be the URL of a feature service, without a layer and a query')
  return url.href.replace(/\/$/, '')
}

/** Converts features to rows. Of several features with the same id, the last one counts. */
function toRows(layerId: number, features: readonly Feature[], idField: string | undefined): NewRow[] {
  const readIds = createIdReader(layerId, idField)
  const rows = features.map((feature): NewRow => ({ ...readIds(feature), value: toValue(feature) }))
  return [...new Map(rows.map((row) => [row.key, row])).values()]
}

/**
 * Creates the function for the comparisons of one attempt to handle a delivery. It compares changes with the stored
 * rows, and with those of earlier comparisons. Changes that were compared before get the same result.
 */
function createCompare(store: RowStore, idField: string | undefined) {
  const comparisons = new WeakMap<Changes, Promise<LayerComparison[]>>()
  /** The rows to store once the handlers have succeeded, in the order of the comparisons. */
  let writings: Writing[] = []
  /** The same rows, to be read by later comparisons. Filled when there is a second comparison. */
  const unwritten = createRowsInMemory(Number.POSITIVE_INFINITY)
  let filled = 0
  let latest: Promise<unknown> = Promise.resolve()

  async function compareAll(
    changes: Changes,
    { signal, onSuccess }: SnapshotsContext,
  ): Promise<LayerComparison[]> {
    const isRerun = attemptPort(onSuccess)?.rerun === true
    const layers: LayerComparison[] = []
    const compared: Writing[] = []
    for (; filled < writings.length; filled++) await writeRows(unwritten, writings[filled] as Writing)
    for (const layerChanges of changes.layers) {
      const layer: RowLayer = { service: layerChanges.service, id: layerChanges.id }
      const changed = readChangedFeatures(layerChanges, idField)
      const stored = await readRows(store, layer, changed.ids, signal)
      const known = await addUnwritten(layer, stored, changed.ids)
      // Without a generation of the service, the changes count as the newest: they have just been extracted.
      const generation =
        generationOf(changes, layerChanges) ?? highest(known.map(({ generation }) => generation))
      const deletedUntil = Math.min(generation, windowEndOf(layerChanges) ?? generation)
      const { features, rows, deleted } = await compareFeatures(
        changed,
        known,
        generation,
        deletedUntil,
        isRerun,
      )
      layers.push({ ...layer, features })
      compared.push({ layer, rows, generation }, { layer, rows: deleted, generation: deletedUntil })
    }
    signal?.throwIfAborted()
    writings.push(...compared)
    // Registered for each comparison, because only then all rows are written before the generations of these changes.
    onSuccess(write)
    return layers
  }

  /** Returns the rows that the store would return if the unwritten rows were written. */
  async function addUnwritten(
    layer: RowLayer,
    stored: readonly KnownRow[],
    { keys, objectIds }: { keys: readonly string[]; objectIds: readonly string[] },
  ): Promise<readonly KnownRow[]> {
    if (filled === 0) return stored
    const rows = new Map(stored.map((row) => [row.key, row]))
    for (const row of await unwritten.read(layer, [...keys, ...rows.keys()], objectIds)) {
      const known = rows.get(row.key)
      if (!known || known.generation <= row.generation) rows.set(row.key, row)
    }
    return [...rows.values()]
  }

  async function write(): Promise<void> {
    const ready = writings
    writings = []
    for (const writing of ready) await writeRows(store, writing)
  }

  return (changes: Changes, context: SnapshotsContext): Promise<LayerComparison[]> => {
    const known = comparisons.get(changes)
    if (known) return known
    const comparison = latest.then(() => compareAll(changes, context))
    comparisons.set(changes, comparison)
    latest = comparison.catch(() => comparisons.delete(changes))
    return comparison
  }
}

/** The generation of the layer; if the service did not send it, the highest one of the same service. */
function generationOf({ layerServerGens }: Changes, { service, id }: LayerChanges): number | undefined {
  const ofService = layerServerGens.filter((layer) => layer.service === service)
  const ofLayer = ofService.find((layer) => layer.id === id)
  if (ofLayer) return ofLayer.serverGen
  return ofService.length > 0 ? highest(ofService.map(({ serverGen }) => serverGen)) : undefined
}

const highest = (generations: readonly number[]): number =>
  generations.reduce((one, other) => Math.max(one, other), 0)

/** The changed features of one layer. */
export interface LayerComparison<Attributes extends object = Record<string, unknown>> {
  /** URL of the feature service. */
  service: string
  /** The layer's id. */
  id: number
  features: FeatureComparison<Attributes>[]
}

/** The members of a handler's third argument that snapshots use. */
export interface SnapshotsContext {
  /** Stops the comparison when it is aborted. */
  signal?: AbortSignal | undefined
  /** Runs a function once the handlers have succeeded. */
  onSuccess: (run: () => unknown) => void
}

/** Keeps the last handled row of each feature. */
export interface Snapshots {
  /**
   * Compares changed features with their last handled rows, and stores the new rows once the handlers have succeeded,
   * so a retry sees the same `before`. Comparisons of the same attempt also see the rows of those before them. Features
   * that a later extraction has already handled are left out; in a rerun, they are reported as they were last handled.
   *
   * @param changes the result of `changes.of(event, context)`
   * @param context the handler's third argument as a whole
   * @throws {WebhookError} `config_invalid`; `changes_malformed` if a feature has no usable id; `changes_unavailable`
   * if the store is unavailable; the abort reason if the signal is aborted
   */
  compare<Attributes extends object>(
    changes: Changes<Attributes>,
    context: SnapshotsContext,
  ): Promise<LayerComparison<Attributes>[]>
  /**
   * Stores copied features, for example the results of a query, so that `before` is known from their first change. Rows
   * with a higher generation stay as they are.
   *
   * @param service URL of the feature service
   * @param layerId the layer's id
   * @param generation generation of the layer before the copy. Default 0, which replaces only rows of other copies made
   * with 0: call `forget` first to replace all rows
   * @throws {WebhookError} `config_invalid`, `changes_malformed`, `changes_unavailable`
   */
  fill(service: string, layerId: number, features: readonly Feature[], generation?: number): Promise<void>
  /**
   * Removes all rows of a service.
   *
   * @throws {WebhookError} `config_invalid`, `changes_unavailable`
   */
  forget(service: string): Promise<void>
}

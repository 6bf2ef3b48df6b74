import type { KnownRow, RowLayer, RowStore } from '../../inbox/rows.ts'
import type { Changes, LayerChanges } from '../types.ts'
import { type ChangedFeatures, compareFeatures, readChangedFeatures } from './compare-layer.ts'
import { readRows, type Writing, writeRows } from './store.ts'
import type { LayerComparison, SnapshotsContext } from './types.ts'

/** The comparisons of one attempt to handle a delivery. */
export interface Attempt {
  /**
   * Compares changes with the stored rows, and with those of earlier comparisons of the attempt. Changes that were
   * compared before get the same result.
   */
  compare(changes: Changes, context: SnapshotsContext): Promise<LayerComparison[]>
}

export function createAttempt(store: RowStore, idField: string | undefined): Attempt {
  const comparisons = new WeakMap<Changes, Promise<LayerComparison[]>>()
  /** The rows to store once the handlers have succeeded, in the order of the comparisons. */
  let writings: Writing[] = []
  let latest: Promise<unknown> = Promise.resolve()

  async function compareAll(
    changes: Changes,
    { signal, onSuccess }: SnapshotsContext,
  ): Promise<LayerComparison[]> {
    const layers: LayerComparison[] = []
    const compared: Writing[] = []
    for (const layerChanges of changes.layers) {
      const layer: RowLayer = { service: layerChanges.service, id: layerChanges.id }
      const changed = readChangedFeatures(layerChanges, idField)
      const stored = await readRows(store, layer, changed.ids, signal)
      const generation = generationOf(changes, layerChanges)
      const known = addUnwritten(stored, changed.ids, rowsOf(writings, layer))
      const { features, rows } = await compareFeatures(changed, known, generation)
      layers.push({ ...layer, features })
      compared.push({ layer, rows, generation })
    }
    signal?.throwIfAborted()
    writings.push(...compared)
    // Registered for each comparison, because only then all rows are written before the generations of these changes.
    onSuccess(write)
    return layers
  }

  async function write(): Promise<void> {
    const unwritten = writings
    writings = []
    for (const writing of unwritten) await writeRows(store, writing)
  }

  return {
    compare(changes, context) {
      const known = comparisons.get(changes)
      if (known) return known
      const comparison = latest.then(() => compareAll(changes, context))
      comparisons.set(changes, comparison)
      latest = comparison.catch(() => comparisons.delete(changes))
      return comparison
    },
  }
}

/** The generation of the layer; if the service did not send it, the highest one of the same service. */
function generationOf({ layerServerGens }: Changes, { service, id }: LayerChanges): number {
  const ofService = layerServerGens.filter((layer) => layer.service === service)
  const ofLayer = ofService.find((layer) => layer.id === id)
  return ofLayer?.serverGen ?? ofService.reduce((highest, { serverGen }) => Math.max(highest, serverGen), 0)
}

const rowsOf = (writings: readonly Writing[], { service, id }: RowLayer): KnownRow[] =>
  writings
    .filter(({ layer }) => layer.service === service && layer.id === id)
    .flatMap(({ rows, generation }) => rows.map((row) => ({ ...row, generation })))

/** Returns the rows that the store would return if the unwritten rows were written. */
function addUnwritten(
  stored: readonly KnownRow[],
  { keys, objectIds }: ChangedFeatures['ids'],
  unwritten: readonly KnownRow[],
): readonly KnownRow[] {
  if (unwritten.length === 0) return stored
  const asked = { keys: new Set(keys), objectIds: new Set(objectIds) }
  const rows = new Map(stored.map((row) => [row.key, row]))
  for (const row of unwritten) {
    const { key, objectId, generation } = row
    const known = rows.get(key)
    const isAsked = asked.keys.has(key) || (objectId !== undefined && asked.objectIds.has(objectId))
    if (known ? known.generation <= generation : isAsked) rows.set(key, row)
  }
  return [...rows.values()]
}

import { createRowsInMemory } from '../../inbox/memory/rows.ts'
import type { KnownRow, RowLayer, RowStore } from '../../inbox/rows.ts'
import type { Changes, LayerChanges } from '../types.ts'
import { compareFeatures, readChangedFeatures } from './compare-layer.ts'
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
  /** The same rows, to be read by later comparisons. Filled when there is a second comparison. */
  const unwritten = createRowsInMemory(Number.POSITIVE_INFINITY)
  let filled = 0
  let latest: Promise<unknown> = Promise.resolve()

  async function compareAll(
    changes: Changes,
    { signal, onSuccess }: SnapshotsContext,
  ): Promise<LayerComparison[]> {
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
function generationOf({ layerServerGens }: Changes, { service, id }: LayerChanges): number | undefined {
  const ofService = layerServerGens.filter((layer) => layer.service === service)
  const ofLayer = ofService.find((layer) => layer.id === id)
  if (ofLayer) return ofLayer.serverGen
  return ofService.length > 0 ? highest(ofService.map(({ serverGen }) => serverGen)) : undefined
}

const highest = (generations: readonly number[]): number =>
  generations.reduce((one, other) => Math.max(one, other), 0)

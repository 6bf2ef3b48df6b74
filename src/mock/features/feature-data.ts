import { configInvalid } from '../../errors.ts'
import { runEdits } from './apply.ts'
import type { EditContext, EditResults, LayerEdits } from './edits.ts'
import { createHistory } from './history.ts'
import type { LayerData } from './layer-data.ts'
import { MAX_EDITS } from './limits.ts'
import type { Change, Layer } from './model.ts'
import { numberChanges } from './number-changes.ts'
import { type FeatureDataSnapshot, toDataSnapshot } from './snapshot.ts'

/** The layers of one feature service, and the history of their changes. */
export interface FeatureData {
  readonly layers: ReadonlyMap<number, Layer>
  /** The current generation of the service. Events that are triggered without data raise it too. */
  readonly generation: number
  /** The history may lack changes up to this generation, so earlier windows cannot be answered. */
  readonly minGeneration: number
  /** Time of the last change in milliseconds since 1970; at first, when the data was created. */
  readonly lastChange: number
  /** True if the data must be part of a snapshot: it was seeded, restored or edited. */
  readonly isKept: boolean
  /** Changes with `min < generation <= max`, oldest first. */
  changes(window: { min: number; max: number }, layerId?: number): readonly Change[]
  /**
   * Applies the edits of one request, and records the changes. A row that fails changes nothing.
   *
   * @throws {WebhookError} `config_invalid` for an unknown layer, or more than 2,000 rows
   */
  apply(edits: readonly LayerEdits[], context: EditContext): EditResults
  /** Drops the changes up to a generation, at most the current one. */
  cleanup(minGeneration: number): void
  snapshot(): FeatureDataSnapshot
}

/** Options of {@link createFeatureData}. */
export interface FeatureDataOptions {
  layers: Iterable<LayerData>
  /** Default: none. */
  changes?: readonly Change[] | undefined
  minGeneration: number
  isKept: boolean
  /** Milliseconds since 1970. */
  createdAt: number
  /** The current generation of the service. */
  generation(): number
  /** Raises the generation. @returns the generation before */
  advance(count: number): number
}

export function createFeatureData(options: FeatureDataOptions): FeatureData {
  const layers = new Map([...options.layers].map((layer) => [layer.id, layer]))
  const history = createHistory(options.minGeneration, options.changes)
  let usedBytes = bytesOfAttachments(layers.values())
  let { isKept } = options
  let lastChange = options.changes?.at(-1)?.when ?? options.createdAt

  return {
    layers,
    get generation() {
      return options.generation()
    },
    get minGeneration() {
      return history.minGeneration
    },
    get lastChange() {
      return lastChange
    },
    get isKept() {
      return isKept
    },
    changes: history.between,
    apply(edits, context) {
      requireKnownLayers(layers, edits)
      requireFewRows(edits)
      const outcome = runEdits(layers, edits, context, usedBytes)
      outcome.commit()
      usedBytes += outcome.addedBytes
      const { changes, events } = numberChanges(outcome.changes, context.now, options.advance)
      history.add(changes)
      if (changes.length > 0) [isKept, lastChange] = [true, context.now]
      return { layers: outcome.layers, events }
    },
    cleanup: (generation) => {
      history.drop(Math.min(generation, options.generation()))
      isKept = true
    },
    snapshot: () =>
      toDataSnapshot(layers.values(), {
        generation: options.generation(),
        minGeneration: history.minGeneration,
        changes: history.all(),
      }),
  }
}

function bytesOfAttachments(layers: Iterable<LayerData>): number {
  let bytes = 0
  for (const { features } of layers)
    for (const { attachments } of features.values())
      for (const { size } of attachments.values()) bytes += size
  return bytes
}

/** @throws {WebhookError} `config_invalid` */
function requireKnownLayers(layers: ReadonlyMap<number, unknown>, edits: readonly LayerEdits[]): void {
  const unknown = edits.find(({ layerId }) => !layers.has(layerId))
  if (unknown) throw configInvalid(`the service has no layer ${unknown.layerId}`)
}

/** @throws {WebhookError} `config_invalid` */
function requireFewRows(edits: readonly LayerEdits[]): void {
  const rows = edits
    .flatMap(({ adds, updates, deletes, attachments: files }) => [
      adds,
      updates,
      deletes,
      files?.adds,
      files?.updates,
      files?.deletes,
    ])
    .reduce((sum, list) => sum + (list?.length ?? 0), 0)
  if (rows > MAX_EDITS) throw configInvalid(`a request may edit at most ${MAX_EDITS} rows`)
}

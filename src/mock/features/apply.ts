import { subscriptionsOf } from '../../payload/events.ts'
import type { ServiceEvent } from '../state/events.ts'
import {
  addAttachment,
  addFeature,
  deleteAttachment,
  deleteFeature,
  type NewChange,
  type RequireRoom,
  type RowResult,
  updateAttachment,
  updateFeature,
} from './apply-rows.ts'
import {
  type EditContext,
  EditError,
  type EditResult,
  type LayerEdits,
  type LayerResults,
  type Results,
} from './edits.ts'
import { type LayerData, type StagedLayer, stage } from './layer-data.ts'
import { type Change, MAX_ATTACHMENTS_OF_SERVICE } from './model.ts'

/** The outcome of a request, before it is committed. */
export interface Outcome {
  layers: LayerResults[]
  /** In the order of the rows. */
  changes: NewChange[]
  /** Applies the edits to the layers. */
  commit(): void
  /** Bytes of attachments that the edits add; negative if they free some. */
  addedBytes: number
}

/**
 * Runs the edits of a request on copies of the layers. A row that fails changes nothing; with `rollbackOnFailure`, no
 * row does then.
 *
 * @param usedBytes bytes of the attachments of the service before the edits
 */
export function runEdits(
  layers: ReadonlyMap<number, LayerData>,
  edits: readonly LayerEdits[],
  context: EditContext,
  usedBytes: number,
): Outcome {
  const staged = new Map<number, StagedLayer>()
  const addedBytes = (): number => [...staged.values()].reduce((sum, layer) => sum + layer.addedBytes, 0)
  const requireRoom: RequireRoom = (bytes) => {
    if (usedBytes + addedBytes() + bytes > MAX_ATTACHMENTS_OF_SERVICE)
      throw new EditError(
        1008,
        `The attachments of a service may have ${MAX_ATTACHMENTS_OF_SERVICE} bytes together.`,
      )
  }
  const changes: NewChange[] = []

  function run<Row>(rows: readonly Row[] = [], edit: (row: Row) => RowResult): EditResult[] {
    // `Array.from`, because `map` would skip the holes of a sparse array.
    return Array.from(rows, (row) => {
      try {
        const { objectId, globalId, changes: done } = edit(row)
        for (const change of done) changes.push(change)
        return { objectId, globalId, success: true }
      } catch (error) {
        if (!(error instanceof EditError)) throw error
        return { ...error.ids, success: false, error: { code: error.code, description: error.message } }
      }
    })
  }

  const results = edits.map(({ layerId, adds, updates, deletes, attachments = {} }): LayerResults => {
    const layer = staged.get(layerId) ?? stage(layers.get(layerId) as LayerData)
    staged.set(layerId, layer)
    return {
      layerId,
      addResults: run(adds, (row) => addFeature(layer, row, context)),
      updateResults: run(updates, (row) => updateFeature(layer, row, context)),
      deleteResults: run(deletes, (id) => deleteFeature(layer, id, context)),
      attachments: {
        addResults: run(attachments.adds, (row) => addAttachment(layer, row, context, requireRoom)),
        updateResults: run(attachments.updates, (row) => updateAttachment(layer, row, context, requireRoom)),
        deleteResults: run(attachments.deletes, (row) => deleteAttachment(layer, row, context)),
      },
    }
  })

  if (context.rollbackOnFailure && results.some(hasFailure)) {
    for (const layer of results) rollBack(layer)
    return { layers: results, changes: [], commit() {}, addedBytes: 0 }
  }
  return {
    layers: results,
    changes,
    commit() {
      for (const layer of staged.values()) layer.commit()
    },
    addedBytes: addedBytes(),
  }
}

const listsOf = ({ addResults, updateResults, deleteResults }: Results): EditResult[][] => [
  addResults,
  updateResults,
  deleteResults,
]
const resultsOf = (layer: LayerResults): EditResult[] => [layer, layer.attachments].flatMap(listsOf).flat()

const hasFailure = (layer: LayerResults): boolean => resultsOf(layer).some(({ success }) => !success)

/** Marks the rows that succeeded as rolled back. The ids of added rows name nothing any more. */
function rollBack(layer: LayerResults): void {
  for (const result of resultsOf(layer)) {
    if (!result.success) continue
    result.success = false
    result.error = { code: 1003, description: 'Operation rolled back.' }
  }
  for (const added of [...layer.addResults, ...layer.attachments.addResults])
    [added.objectId, added.globalId] = [null, null]
}

const CHANGE_TYPES: readonly [of: Change['of'], kind: Change['kind'], changeType: string][] = [
  ['feature', 'insert', 'FeaturesCreated'],
  ['feature', 'update', 'FeaturesUpdated'],
  ['feature', 'delete', 'FeaturesDeleted'],
  ['attachment', 'insert', 'AttachmentsCreated'],
  ['attachment', 'update', 'AttachmentsUpdated'],
  ['attachment', 'delete', 'AttachmentsDeleted'],
]

/** The changes of a request with their generations, and the events that report them. */
interface Numbered {
  /** Oldest first. */
  changes: Change[]
  events: ServiceEvent[]
}

/**
 * Gives each change type of each layer a generation of its own. Attachments that are deleted with their feature belong
 * to the deletion of the feature: they share its generation, and are not reported by an event.
 *
 * @param advance returns the generation before this number of new ones
 */
export function numberChanges(
  changes: readonly NewChange[],
  now: number,
  advance: (count: number) => number,
): Numbered {
  const numbered: Change[] = []
  const events: ServiceEvent[] = []
  const deleted = new Set(
    changes.filter(({ of, kind }) => of === 'feature' && kind === 'delete').map(featureKey),
  )
  const isCascaded = (change: NewChange): boolean =>
    change.of === 'attachment' && change.kind === 'delete' && deleted.has(featureKey(change))

  for (const [of, kind, changeType] of CHANGE_TYPES) {
    const own = changes.filter(
      (change) => change.kind === kind && (isCascaded(change) ? of === 'feature' : change.of === of),
    )
    const layerIds = [...new Set(own.map(({ layerId }) => layerId))]
    if (layerIds.length === 0) continue
    const generation = advance(layerIds.length)
    for (const [index, id] of layerIds.entries()) {
      for (const change of own)
        if (change.layerId === id) numbered.push({ generation: generation + index + 1, ...change })
    }
    events.push({ changeType, subscriptions: subscriptionsOf(changeType), when: now, layerIds, generation })
  }
  return { changes: numbered, events }
}

const featureKey = ({ layerId, objectId }: NewChange): string => `${layerId} ${objectId}`

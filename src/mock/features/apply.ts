import { subscriptionsOf } from '../../payload/events.ts'
import type { ServiceEvent } from '../state/events.ts'
import {
  addAttachment,
  addFeature,
  deleteAttachment,
  deleteFeature,
  type NewChange,
  type RowContext,
  type RowResult,
  updateAttachment,
  updateFeature,
} from './apply-rows.ts'
import {
  allResults,
  type EditContext,
  EditError,
  type EditResult,
  type FeatureEdits,
  type LayerResults,
  NO_IDS,
} from './edit-types.ts'
import { type LayerData, StagedLayer } from './layer-data.ts'
import { type Change, MAX_ATTACHMENTS_OF_SERVICE } from './model.ts'

/**
 * Runs the edits of a request on copies of the layers. A row that fails changes nothing; with `rollbackOnFailure`, no
 * row does then.
 *
 * @param usedBytes bytes of the attachments of the service before the edits
 * @returns the changes in the order of the rows, and the staged layers to commit
 */
export function runEdits(
  layers: ReadonlyMap<number, LayerData>,
  edits: readonly FeatureEdits[],
  context: EditContext,
  usedBytes: number,
): { layers: LayerResults[]; changes: NewChange[]; staged: Iterable<StagedLayer> } {
  const staged = new Map<number, StagedLayer>()
  const changes: NewChange[] = []
  const rowContext: RowContext = {
    ...context,
    requireRoom(bytes) {
      let total = usedBytes + bytes
      for (const layer of staged.values()) total += layer.addedBytes
      if (total > MAX_ATTACHMENTS_OF_SERVICE)
        throw new EditError(
          1008,
          `The attachments of a service may have ${MAX_ATTACHMENTS_OF_SERVICE} bytes together.`,
        )
    },
  }

  const results = edits.map(({ layerId = 0, attachments = {}, ...features }): LayerResults => {
    const layer = staged.get(layerId) ?? new StagedLayer(layers.get(layerId) as LayerData)
    staged.set(layerId, layer)
    const run = <Row>(
      rows: readonly Row[] | undefined,
      edit: (staged: StagedLayer, row: Row, context: RowContext) => RowResult,
    ): EditResult[] =>
      // `Array.from`, because `map` would skip the holes of a sparse array.
      Array.from(rows ?? [], (row) => {
        try {
          const { changes: done, ...ids } = edit(layer, row, rowContext)
          for (const change of done) changes.push(change)
          return { ...ids, success: true }
        } catch (error) {
          if (!(error instanceof EditError)) throw error
          return { ...error.ids, ...toFailure(error.code, error.message) }
        }
      })
    return {
      layerId,
      addResults: run(features.adds, addFeature),
      updateResults: run(features.updates, updateFeature),
      deleteResults: run(features.deletes, deleteFeature),
      attachments: {
        addResults: run(attachments.adds, addAttachment),
        updateResults: run(attachments.updates, updateAttachment),
        deleteResults: run(attachments.deletes, deleteAttachment),
      },
    }
  })

  const hasFailed = results.flatMap(allResults).some(({ success }) => !success)
  if (!context.rollbackOnFailure || !hasFailed) return { layers: results, changes, staged: staged.values() }
  for (const layer of results) rollBack(layer)
  return { layers: results, changes: [], staged: [] }
}

const toFailure = (code: number, description: string): Pick<EditResult, 'success' | 'error'> => ({
  success: false,
  error: { code, description },
})

/** Marks the rows that succeeded as rolled back. The ids of added rows name nothing any more. */
function rollBack(layer: LayerResults): void {
  for (const result of allResults(layer))
    if (result.success) Object.assign(result, toFailure(1003, 'Operation rolled back.'))
  for (const added of [layer, layer.attachments].flatMap(({ addResults }) => addResults))
    Object.assign(added, NO_IDS)
}

const CHANGE_TYPES: readonly [of: Change['of'], kind: Change['kind'], changeType: string][] = [
  ['feature', 'insert', 'FeaturesCreated'],
  ['feature', 'update', 'FeaturesUpdated'],
  ['feature', 'delete', 'FeaturesDeleted'],
  ['attachment', 'insert', 'AttachmentsCreated'],
  ['attachment', 'update', 'AttachmentsUpdated'],
  ['attachment', 'delete', 'AttachmentsDeleted'],
]

/**
 * Gives each change type of each layer a generation of its own. Attachments that are deleted with their feature belong
 * to the deletion of the feature: they share its generation, and are not reported by an event.
 *
 * @param advance returns the generation before this number of new ones
 * @returns the changes, oldest first, and the events that report them
 */
export function numberChanges(
  changes: readonly NewChange[],
  now: number,
  advance: (count: number) => number,
): { changes: Change[]; events: ServiceEvent[] } {
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

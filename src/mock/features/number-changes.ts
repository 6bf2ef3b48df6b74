import { subscriptionsOf } from '../../payload/events.ts'
import type { ServiceEvent } from '../state/events.ts'
import type { NewChange } from './apply-rows.ts'
import type { Change } from './model.ts'

const CHANGE_TYPES: readonly [of: Change['of'], kind: Change['kind'], changeType: string][] = [
  ['feature', 'insert', 'FeaturesCreated'],
  ['feature', 'update', 'FeaturesUpdated'],
  ['feature', 'delete', 'FeaturesDeleted'],
  ['attachment', 'insert', 'AttachmentsCreated'],
  ['attachment', 'update', 'AttachmentsUpdated'],
  ['attachment', 'delete', 'AttachmentsDeleted'],
]

/** The changes of a request with their generations, and the events that report them. */
export interface Numbered {
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

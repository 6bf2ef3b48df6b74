import type { Attachment, Change, Feature, Layer } from '../model.ts'

/** What the changes of a window come to for one feature or attachment. */
export interface NetChange<T> {
  /** The feature or attachment as it is now; undefined if it does not exist. */
  current: T | undefined
  /** The last deletion of the window; undefined without a deletion, or if the feature or attachment exists. */
  deletion: Change | undefined
  isInserted: boolean
  isUpdated: boolean
  /** Names of the attributes that the updates changed. */
  fields: ReadonlySet<string>
  isMoved: boolean
}

/** An attachment and the feature that it belongs to. */
export interface OwnedAttachment {
  feature: Feature
  attachment: Attachment
}

/** Returns the net changes of features, in the order of their first change. */
export const netFeatures = ({ features }: Layer, changes: readonly Change[]): NetChange<Feature>[] =>
  combineAll(
    changes.filter(({ of }) => of === 'feature'),
    ({ globalId }) => globalId,
    () => new Map(Array.from(features.values(), (feature) => [feature.globalId, feature])),
  )

/** Returns the net changes of attachments, in the order of their first change. */
export const netAttachments = (
  { features }: Layer,
  changes: readonly Change[],
): NetChange<OwnedAttachment>[] =>
  combineAll(
    changes.filter(({ of }) => of === 'attachment'),
    ({ attachmentGlobalId = '' }) => attachmentGlobalId,
    () => {
      const all = new Map<string, OwnedAttachment>()
      for (const feature of features.values())
        for (const attachment of feature.attachments.values())
          all.set(attachment.globalId, { feature, attachment })
      return all
    },
  )

/**
 * Combines the changes with the same id. Only the current state is known, so what exists now is never deleted, whatever
 * happened in the window. What does not exist is deleted even if the window also contains its insertion, because a
 * client may have it from another window.
 *
 * @param index returns what exists now, by id
 */
function combineAll<T>(
  changes: readonly Change[],
  idOf: (change: Change) => string,
  index: () => ReadonlyMap<string, T>,
): NetChange<T>[] {
  if (changes.length === 0) return []
  const groups = new Map<string, Change[]>()
  for (const change of changes) {
    const group = groups.get(idOf(change))
    if (group) group.push(change)
    else groups.set(idOf(change), [change])
  }
  const all = index()
  return [...groups].map(([id, group]) => combine(group, all.get(id)))
}

function combine<T>(group: readonly Change[], current: T | undefined): NetChange<T> {
  const updates = group.filter(({ kind }) => kind === 'update')
  const exists = current !== undefined
  return {
    current,
    deletion: exists ? undefined : group.findLast(({ kind }) => kind === 'delete'),
    isInserted: exists && group.some(({ kind }) => kind === 'insert'),
    isUpdated: exists && updates.length > 0,
    fields: new Set(updates.flatMap(({ fields = [] }) => fields)),
    isMoved: updates.some(({ movesGeometry }) => movesGeometry === true),
  }
}

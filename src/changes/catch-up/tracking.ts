/** The generations that a service tracks for one layer, from its `changeTrackingInfo`. */
export interface LayerTracking {
  id: number
  /** The oldest generation whose later changes are still kept. */
  minServerGen: number
  /** The current generation. */
  serverGen: number
}

/** How the current generations of a service compare with the handled ones. */
export type SyncStatus =
  | { kind: 'handled' }
  /** Changes of these layers, after `min` up to `max`, have not been handled. */
  | { kind: 'behind'; layers: number[]; min: number; max: number }
  /** Nothing has been stored for the service yet. */
  | { kind: 'unknown' }
  /** The service no longer keeps the changes after the last handled generation. */
  | { kind: 'purged' }
  /** The service counts from a lower generation than before: it was restored or replaced. */
  | { kind: 'reset' }

/**
 * Compares the current generations of a service with the handled ones.
 *
 * @param handled the last handled generation of each layer
 * @param seen the highest generation that the service has ever reported
 */
export function compareGenerations(
  current: readonly LayerTracking[],
  handled: ReadonlyMap<number, number>,
  seen: number | undefined,
): SyncStatus {
  if (handled.size === 0) return { kind: 'unknown' }
  if (seen !== undefined && highestOf(current) < seen) return { kind: 'reset' }
  // A layer without a stored generation is newer than the others: all of its changes count.
  const behind = current.flatMap(({ id, minServerGen, serverGen }) => {
    const last = handled.get(id) ?? minServerGen
    return last < serverGen ? { id, last, minServerGen, serverGen } : []
  })
  if (behind.some(({ last, minServerGen }) => last < minServerGen)) return { kind: 'purged' }
  if (behind.length === 0) return { kind: 'handled' }
  return {
    kind: 'behind',
    layers: behind.map(({ id }) => id),
    min: behind.reduce((least, { last }) => Math.min(least, last), Infinity),
    max: highestOf(behind),
  }
}

/** The highest current generation, or -Infinity without layers. */
export const highestOf = (layers: readonly { serverGen: number }[]): number =>
  layers.reduce((most, { serverGen }) => Math.max(most, serverGen), -Infinity)

export const toGenerations = (current: readonly LayerTracking[]): Map<number, number> =>
  new Map(current.map(({ id, serverGen }) => [id, serverGen]))

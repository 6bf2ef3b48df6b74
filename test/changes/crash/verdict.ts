import { isDeepStrictEqual } from 'node:util'
import type { Feature, LayerChanges, LayerComparison } from 'geohook/changes'
import type { MockService } from 'geohook/mock'

/** One line of the log that the handlers write. */
export interface Seen {
  kind: 'announced' | 'caught_up' | 'ready' | 'success'
  /** Milliseconds since 1970. */
  at: number
  layers?: LayerChanges[]
  compared?: LayerComparison[]
}

/** One edit of the mock. */
export interface Edit {
  layer: number
  globalId: string
  /** Milliseconds since 1970. */
  at: number
}

type Copy = Map<string, unknown>

const keyOf = (layer: number, globalId: unknown): string => `${layer} ${globalId}`

/** Applies the changes that the handlers saw, one after another, to an empty copy. */
export function toCopy(seen: readonly Seen[]): Copy {
  const copy: Copy = new Map()
  for (const { id, adds, updates, deletes } of seen.flatMap(({ layers = [] }) => layers)) {
    for (const { attributes, geometry } of [...adds, ...updates])
      copy.set(keyOf(id, attributes.GlobalID), { attributes, geometry: geometry ?? null })
    for (const globalId of deletes.ids) copy.delete(keyOf(id, globalId))
  }
  return copy
}

/**
 * Compares what the handlers saw with the mock: the resulting copy with its features, and each edit with the changes
 * that were seen after it.
 */
export function compare(service: MockService, seen: readonly Seen[], edits: readonly Edit[]): string[] {
  const copy = toCopy(seen)
  const missing: string[] = []
  let features = 0
  for (const { layerId } of [{ layerId: 0 }, { layerId: 1 }]) {
    for (const { attributes, geometry } of service.features('Parcels').query({ layerId })) {
      features++
      const key = keyOf(layerId, attributes.GlobalID)
      const row = { attributes, geometry: geometry ?? null }
      if (!isDeepStrictEqual(toPlain(copy.get(key)), toPlain(row))) missing.push(`${key} differs`)
    }
  }
  if (copy.size !== features) missing.push(`the copy has ${copy.size} features, the mock ${features}`)

  const lastSeen = new Map<string, number>()
  for (const { at, layers = [] } of seen) {
    for (const { id, adds, updates, deletes } of layers) {
      const globalIds = [...adds, ...updates].map(({ attributes }) => attributes.GlobalID)
      for (const globalId of [...globalIds, ...deletes.ids]) lastSeen.set(keyOf(id, globalId), at)
    }
  }
  for (const { layer, globalId, at } of edits) {
    const key = keyOf(layer, globalId)
    if ((lastSeen.get(key) ?? 0) < at) missing.push(`an edit of ${key} was not seen`)
  }
  return missing
}

const toPlain = (value: unknown): unknown => value && JSON.parse(JSON.stringify(value))

/**
 * Checks each comparison with the snapshots: the state before must be the one that the handlers saw last. If a process
 * was killed after it saw a state, the snapshots may or may not contain that state.
 */
export function checkComparisons(seen: readonly Seen[]): { compared: number; wrong: string[] } {
  const known = new Map<string, Feature | undefined>()
  const unsure = new Map<string, Feature | undefined>()
  /** The features of the latest attempt, whose states are known when it has succeeded. */
  let latest: string[] = []
  const wrong: string[] = []
  let compared = 0
  for (const { kind, compared: layers = [] } of seen) {
    if (kind === 'success') {
      for (const key of latest) {
        known.set(key, unsure.get(key))
        unsure.delete(key)
      }
    }
    latest = []
    for (const { id: layer, features } of layers) {
      for (const { id, before, after, changed, moved } of features) {
        compared++
        const key = keyOf(layer, id)
        const states = [known.get(key), ...(unsure.has(key) ? [unsure.get(key)] : [])]
        if (!states.some((state) => isDeepStrictEqual(toPlain(state), toPlain(before))))
          wrong.push(`${key}: the state before is not the last one`)
        if (before && after && !isDeepStrictEqual([...(changed ?? [])].sort(), differencesOf(before, after)))
          wrong.push(`${key}: changed is ${changed}`)
        if (before && after && moved === isDeepStrictEqual(before.geometry, after.geometry))
          wrong.push(`${key}: moved is ${moved}`)
        known.set(key, before)
        unsure.set(key, after)
        latest.push(key)
      }
    }
  }
  return { compared, wrong }
}

const differencesOf = ({ attributes: before }: Feature, { attributes: after }: Feature): string[] =>
  Object.keys(after)
    .filter((name) => !isDeepStrictEqual(before[name], after[name]))
    .sort()

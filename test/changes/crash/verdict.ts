import { isDeepStrictEqual } from 'node:util'
import type { Feature, LayerChanges, LayerComparison } from 'geohook/changes'
import type { MockService } from 'geohook/mock'

/** One line of the log that the handlers write. */
export interface Seen {
  kind: 'announced' | 'caught_up' | 'ready' | 'success'
  /** The attempt that a handler or a success belongs to. */
  attempt?: string
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
 * was killed during an attempt, the snapshots may contain any of the states that the attempt saw.
 */
export function checkComparisons(seen: readonly Seen[]): { compared: number; wrong: string[] } {
  /** The states that the snapshots may contain, by feature. */
  const stored = new Map<string, (Feature | undefined)[]>()
  /** The states that the latest attempt saw last. */
  let latest = new Map<string, Feature | undefined>()
  let attempt: string | undefined
  const wrong: string[] = []
  let compared = 0
  for (const line of seen) {
    if (line.attempt === undefined) continue
    if (line.attempt !== attempt) latest = new Map()
    attempt = line.attempt
    if (line.kind === 'success') for (const [key, state] of latest) stored.set(key, [state])
    for (const { id: layer, features } of line.compared ?? []) {
      for (const { id, before, after, changed, moved } of features) {
        compared++
        const key = keyOf(layer, id)
        const known = stored.get(key) ?? [undefined]
        const states = latest.has(key) ? [latest.get(key)] : known
        if (!states.some((state) => isDeepStrictEqual(toPlain(state), toPlain(before))))
          wrong.push(`${key}: the state before is not the last one`)
        if (before && after && !isDeepStrictEqual([...(changed ?? [])].sort(), differencesOf(before, after)))
          wrong.push(`${key}: changed is ${changed}`)
        if (before && after && moved === isDeepStrictEqual(before.geometry, after.geometry))
          wrong.push(`${key}: moved is ${moved}`)
        stored.set(key, [...(latest.has(key) ? known : [before]), after])
        latest.set(key, after)
      }
    }
  }
  return { compared, wrong }
}

const differencesOf = ({ attributes: before }: Feature, { attributes: after }: Feature): string[] =>
  Object.keys(after)
    .filter((name) => !isDeepStrictEqual(before[name], after[name]))
    .sort()

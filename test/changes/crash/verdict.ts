import { isDeepStrictEqual } from 'node:util'
import type { LayerChanges } from 'geohook/changes'
import type { MockService } from 'geohook/mock'

/** One line of the log that the handlers write. */
export interface Seen {
  kind: 'announced' | 'caught_up' | 'ready' | 'success'
  /** Milliseconds since 1970. */
  at: number
  layers?: LayerChanges[]
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

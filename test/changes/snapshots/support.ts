import { type Changes, createSnapshots, type Feature, type LayerChanges } from 'geohook/changes'
import { createMemoryRows, type RowStore } from 'geohook/inbox'
import { expect } from 'vitest'

export const SERVICE = 'https://gis.example.com/server/rest/services/Parcels/FeatureServer'
export const ID = 'CF08A8A5-0D5F-4C2B-9A5B-0123456789AB'

export function changesOf(layer: Partial<LayerChanges>, serverGen = 5): Changes {
  const attachments = { adds: [], updates: [], deleteIds: [] }
  const empty = { service: SERVICE, id: 0, adds: [], updates: [], deletes: { ids: [] }, attachments }
  return { layers: [{ ...empty, ...layer }], layerServerGens: [{ service: SERVICE, id: 0, serverGen }] }
}

export const rowOf = (attributes: object, geometry?: object): Feature =>
  ({
    attributes: { OBJECTID: 7, GlobalID: `{${ID}}`, ...attributes },
    ...(geometry && { geometry }),
  }) as Feature

export function start(options: { store?: RowStore; idField?: string } = {}) {
  const snapshots = createSnapshots({ store: createMemoryRows(), ...options })
  /** Compares changes in a new attempt that succeeds, and returns the features of the only layer of each. */
  async function handleAll(...all: Changes[]) {
    const runs: (() => unknown)[] = []
    const context = {
      signal: new AbortController().signal,
      onSuccess: (run: () => unknown) => void runs.push(run),
    }
    const compared = await Promise.all(all.map((changes) => snapshots.compare(changes, context)))
    for (const run of runs.reverse()) await run()
    return compared.map(([layer]) => layer?.features)
  }
  async function handle(layer: Partial<LayerChanges>, serverGen?: number) {
    const [features] = await handleAll(changesOf(layer, serverGen))
    return features
  }
  return { snapshots, handle, handleAll }
}

export const invalid = (message: string) =>
  expect.objectContaining({ code: 'config_invalid', message: expect.stringContaining(message) })

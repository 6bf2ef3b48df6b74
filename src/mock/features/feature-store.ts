import type { Generations } from '../state/generations.ts'
import { type Service, type ServiceSeed, servicePath, toService } from '../state/services.ts'
import { defaultLayer } from './default-layer.ts'
import { createFeatureData, type FeatureData } from './feature-data.ts'
import { type LayerData, toLayerData } from './layer-data.ts'
import { toLayers } from './layer-seed.ts'
import type { Change } from './model.ts'
import { fromLayerSnapshots, type ServiceDataSnapshot } from './snapshot.ts'

/** The data of all feature services. */
export interface FeatureStore {
  /** @returns the data of a feature service; at the first use, it is one layer without features */
  of(service: Readonly<Service>): FeatureData
  /** @returns the data that was seeded, restored or edited; it shares objects with the store */
  snapshot(): ServiceDataSnapshot[]
  /**
   * Prepares to replace all data with that of a snapshot, and with the layers of the seeds of other services.
   *
   * @returns a function that replaces it
   * @throws {WebhookError} `config_invalid` for invalid layers
   */
  prepare(services: readonly ServiceSeed[], snapshots: readonly ServiceDataSnapshot[]): () => void
}

interface Entry {
  service: Readonly<Service>
  data: FeatureData
  /** Whether a request has used the data, so that a client can know its generation. */
  isUsed: boolean
}

export function createFeatureStore(generations: Generations, now: () => number): FeatureStore {
  let entries = new Map<string, Entry>()

  function create(
    service: Readonly<Service>,
    layers: Iterable<LayerData>,
    options: { isKept: boolean; minGeneration: number; changes?: readonly Change[] },
  ): Entry {
    const data = createFeatureData({
      ...options,
      layers,
      createdAt: now(),
      generation: () => generations.current(service),
      advance: (count) => generations.advance(service, count),
    })
    return { service, data, isUsed: false }
  }

  /** Restores the data of a service. Its history is dropped if the service has changed since the snapshot. */
  function restoreData(
    service: Readonly<Service>,
    { generation, minGeneration, changes }: ServiceDataSnapshot,
    layers: LayerData[],
  ): Entry {
    const isCurrent = generations.raise(service, generation) === generation
    const history = isCurrent ? { minGeneration, changes: structuredClone(changes) } : startHistory(service)
    return create(service, layers, { ...history, isKept: true })
  }

  /** Begins a history after a new generation, so that no client can continue from before. */
  function startHistory(service: Readonly<Service>): { minGeneration: number } {
    generations.advance(service, 1)
    return { minGeneration: generations.current(service) }
  }

  return {
    of(service) {
      const path = servicePath(service)
      const found = entries.get(path)
      if (found) {
        found.isUsed = true
        return found.data
      }
      const entry = create(service, [toLayerData(defaultLayer(service.serviceName))], {
        isKept: false,
        minGeneration: generations.current(service),
      })
      entries.set(path, { ...entry, isUsed: true })
      return entry.data
    },
    snapshot: () =>
      [...entries.values()]
        .filter(({ data }) => data.isKept)
        .map(({ service: { folderName, serviceName }, data }) => ({
          folderName,
          serviceName,
          ...data.snapshot(),
        })),
    prepare(seeds, snapshots) {
      const restored = snapshots.map((snapshot) => ({
        snapshot,
        layers: fromLayerSnapshots(snapshot.layers),
      }))
      const seeded = seeds.flatMap((seed) =>
        seed.layers === undefined ? [] : [{ service: toService(seed), layers: toLayers(seed, now()) }],
      )
      return () => {
        const before = entries
        entries = new Map()
        for (const { snapshot, layers } of restored) {
          const service = toService({ ...nameOf(snapshot), serviceType: 'FeatureServer' })
          // A restart with a seed and a saved state continues the saved history, not that of the seed.
          if (isUntouched(before.get(servicePath(service)))) generations.forget(service)
          entries.set(servicePath(service), restoreData(service, snapshot, layers))
        }
        for (const { service, layers } of seeded) {
          const path = servicePath(service)
          if (entries.has(path)) continue
          const history = before.has(path)
            ? startHistory(service)
            : { minGeneration: generations.current(service) }
          entries.set(path, create(service, layers, { ...history, isKept: true }))
        }
        for (const [path, { service, data }] of before)
          if (data.isKept && !entries.has(path)) startHistory(service)
      }
    },
  }
}

/** True if neither a request nor an event has used seeded data. */
const isUntouched = (entry: Entry | undefined): boolean =>
  entry !== undefined && !entry.isUsed && entry.data.generation === entry.data.minGeneration

const nameOf = ({
  folderName,
  serviceName,
}: ServiceDataSnapshot): { folderName: string; serviceName: string } => ({
  folderName,
  serviceName,
})

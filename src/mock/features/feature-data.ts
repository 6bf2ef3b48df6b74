import { configInvalid } from '../../errors.ts'
import type { Generations } from '../state/records.ts'
import { type Service, type ServiceSeed, servicePath, toService } from '../state/services.ts'
import { numberChanges, runEdits } from './apply.ts'
import type { EditContext, EditResults, LayerEdits } from './edits.ts'
import {
  type FeatureDataSnapshot,
  fromLayerSnapshots,
  type LayerData,
  type ServiceDataSnapshot,
  toDataSnapshot,
  toLayerData,
} from './layer-data.ts'
import { defaultLayer, toLayers } from './layer-seed.ts'
import { type Change, type Layer, MAX_EDITS, MAX_HISTORY } from './model.ts'

/** Changes of a service, oldest first. The oldest are dropped when there are more than {@link MAX_HISTORY}. */
export interface History {
  /** Changes up to this generation may be missing. */
  readonly minGeneration: number
  /** Changes with `min < generation <= max`, oldest first. */
  between(window: { min: number; max: number }, layerId?: number): readonly Change[]
  add(changes: readonly Change[]): void
  /** Drops the changes up to a generation. */
  drop(generation: number): void
  all(): readonly Change[]
}

function createHistory(minGeneration: number, changes: readonly Change[] = []): History {
  let [first, list] = [minGeneration, [...changes]]

  /** Index of the first change after a generation. */
  function indexAfter(generation: number): number {
    let [low, high] = [0, list.length]
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((list[middle] as Change).generation > generation) high = middle
      else low = middle + 1
    }
    return low
  }

  function drop(generation: number): void {
    if (generation <= first) return
    list = list.slice(indexAfter(generation))
    first = generation
  }

  return {
    get minGeneration() {
      return first
    },
    between({ min, max }, layerId) {
      const found = list.slice(indexAfter(min), indexAfter(max))
      return layerId === undefined ? found : found.filter((change) => change.layerId === layerId)
    },
    add(added) {
      for (const change of added) list.push(change)
      const oldest = list[list.length - 1 - MAX_HISTORY]
      if (oldest) drop(oldest.generation)
    },
    drop,
    all: () => list,
  }
}

/** The layers of one feature service, and the history of their changes. */
export interface FeatureData {
  readonly layers: ReadonlyMap<number, Layer>
  /** The current generation of the service. Events that are triggered without data raise it too. */
  readonly generation: number
  /** The history may lack changes up to this generation, so earlier windows cannot be answered. */
  readonly minGeneration: number
  /** Time of the last change in milliseconds since 1970; at first, when the data was created. */
  readonly lastChange: number
  /** True if the data must be part of a snapshot: it was seeded, restored or edited. */
  readonly isKept: boolean
  /** Changes with `min < generation <= max`, oldest first. */
  changes(window: { min: number; max: number }, layerId?: number): readonly Change[]
  /**
   * Applies the edits of one request, and records the changes. A row that fails changes nothing.
   *
   * @throws {WebhookError} `config_invalid` for an unknown layer, or more than 2,000 rows
   */
  apply(edits: readonly LayerEdits[], context: EditContext): EditResults
  /** Drops the changes up to a generation, at most the current one. */
  cleanup(minGeneration: number): void
  snapshot(): FeatureDataSnapshot
}

interface FeatureDataOptions {
  layers: Iterable<LayerData>
  /** Default: none. */
  changes?: readonly Change[] | undefined
  minGeneration: number
  isKept: boolean
  /** Milliseconds since 1970. */
  createdAt: number
  /** The current generation of the service. */
  generation(): number
  /** Raises the generation. @returns the generation before */
  advance(count: number): number
}

function createFeatureData(options: FeatureDataOptions): FeatureData {
  const layers = new Map([...options.layers].map((layer) => [layer.id, layer]))
  const history = createHistory(options.minGeneration, options.changes)
  let usedBytes = bytesOfAttachments(layers.values())
  let { isKept } = options
  let lastChange = options.changes?.at(-1)?.when ?? options.createdAt

  return {
    layers,
    get generation() {
      return options.generation()
    },
    get minGeneration() {
      return history.minGeneration
    },
    get lastChange() {
      return lastChange
    },
    get isKept() {
      return isKept
    },
    changes: history.between,
    apply(edits, context) {
      requireKnownLayers(layers, edits)
      requireFewRows(edits)
      const outcome = runEdits(layers, edits, context, usedBytes)
      outcome.commit()
      usedBytes += outcome.addedBytes
      const { changes, events } = numberChanges(outcome.changes, context.now, options.advance)
      history.add(changes)
      if (changes.length > 0) [isKept, lastChange] = [true, context.now]
      return { layers: outcome.layers, events }
    },
    cleanup: (generation) => {
      history.drop(Math.min(generation, options.generation()))
      isKept = true
    },
    snapshot: () =>
      toDataSnapshot(layers.values(), {
        generation: options.generation(),
        minGeneration: history.minGeneration,
        changes: history.all(),
      }),
  }
}

function bytesOfAttachments(layers: Iterable<LayerData>): number {
  let bytes = 0
  for (const { features } of layers)
    for (const { attachments } of features.values())
      for (const { size } of attachments.values()) bytes += size
  return bytes
}

function requireKnownLayers(layers: ReadonlyMap<number, unknown>, edits: readonly LayerEdits[]): void {
  const unknown = edits.find(({ layerId }) => !layers.has(layerId))
  if (unknown) throw configInvalid(`the service has no layer ${unknown.layerId}`)
}

function requireFewRows(edits: readonly LayerEdits[]): void {
  const rows = edits
    .flatMap(({ adds, updates, deletes, attachments: files }) => [
      adds,
      updates,
      deletes,
      files?.adds,
      files?.updates,
      files?.deletes,
    ])
    .reduce((sum, list) => sum + (list?.length ?? 0), 0)
  if (rows > MAX_EDITS) throw configInvalid(`a request may edit at most ${MAX_EDITS} rows`)
}

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

import { configInvalid } from '../../errors.ts'
import type { Generations } from '../state/records.ts'
import { type Service, type ServiceSeed, servicePath, toService } from '../state/services.ts'
import { numberChanges, runEdits } from './apply.ts'
import type { EditContext, EditResults, FeatureEdits } from './edit-types.ts'
import {
  fromLayerSnapshots,
  type LayerData,
  type ServiceDataSnapshot,
  toLayerData,
  toLayerSnapshot,
} from './layer-data.ts'
import { defaultLayer, toLayers } from './layer-seed.ts'
import { type Change, MAX_EDITS, MAX_HISTORY } from './model.ts'

/** The layers of one feature service, and the history of their changes. */
export class FeatureData {
  readonly service: Readonly<Service>
  readonly layers: ReadonlyMap<number, LayerData>
  /** Changes up to this generation may be missing in the history, so earlier windows cannot be answered. */
  minGeneration: number
  /** Time of the last change in milliseconds since 1970; at first, when the data was created. */
  lastChange: number
  /** True if the data must be part of a snapshot: it was seeded, restored or edited. */
  isKept = false
  /** Whether a request has used the data, so that a client can know its generation. */
  isUsed = false
  readonly #generations: Generations
  /** Oldest first. The oldest are dropped when there are more than {@link MAX_HISTORY}. */
  #history: Change[] = []
  #usedBytes = 0

  /** @param now milliseconds since 1970 */
  constructor(
    service: Readonly<Service>,
    layers: readonly LayerData[],
    generations: Generations,
    now: number,
  ) {
    this.service = service
    this.layers = new Map(layers.map((layer) => [layer.id, layer]))
    this.minGeneration = generations.current(service)
    this.lastChange = now
    this.#generations = generations
    for (const { features } of this.layers.values())
      for (const { attachments } of features.values())
        for (const { size } of attachments.values()) this.#usedBytes += size
  }

  /** The current generation of the service. Events that are triggered without data raise it too. */
  get generation(): number {
    return this.#generations.current(this.service)
  }

  /** Changes with `min < generation <= max`, oldest first. */
  changes({ min, max }: { min: number; max: number }, layerId?: number): readonly Change[] {
    const found = this.#history.slice(this.#indexAfter(min), this.#indexAfter(max))
    return layerId === undefined ? found : found.filter((change) => change.layerId === layerId)
  }

  /** Index of the first change after a generation. */
  #indexAfter(generation: number): number {
    let [low, high] = [0, this.#history.length]
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((this.#history[middle] as Change).generation > generation) high = middle
      else low = middle + 1
    }
    return low
  }

  /**
   * Applies the edits of one request, and records the changes. A row that fails changes nothing.
   *
   * @throws {WebhookError} `config_invalid` for an unknown layer, or more than 2,000 rows
   */
  apply(edits: readonly FeatureEdits[], context: EditContext): EditResults {
    const unknown = edits.find(({ layerId = 0 }) => !this.layers.has(layerId))
    if (unknown) throw configInvalid(`the service has no layer ${unknown.layerId ?? 0}`)
    if (edits.reduce((sum, layer) => sum + countRows(layer) + countRows(layer.attachments), 0) > MAX_EDITS)
      throw configInvalid(`a request may edit at most ${MAX_EDITS} rows`)
    const { layers, changes, staged } = runEdits(this.layers, edits, context, this.#usedBytes)
    for (const layer of staged) {
      layer.commit()
      this.#usedBytes += layer.addedBytes
    }
    const numbered = numberChanges(changes, context.now, (count) =>
      this.#generations.advance(this.service, count),
    )
    for (const change of numbered.changes) this.#history.push(change)
    const oldest = this.#history.at(-1 - MAX_HISTORY)
    if (oldest) this.#drop(oldest.generation)
    if (changes.length > 0) [this.isKept, this.lastChange] = [true, context.now]
    return { layers, events: numbered.events }
  }

  /** Continues the history of a snapshot. */
  continueFrom({ minGeneration, changes }: Pick<ServiceDataSnapshot, 'minGeneration' | 'changes'>): void {
    this.#history = structuredClone(changes)
    this.minGeneration = minGeneration
    this.lastChange = changes.at(-1)?.when ?? this.lastChange
  }

  /** Drops the changes up to a generation, at most the current one. */
  cleanup(minGeneration: number): void {
    this.#drop(Math.min(minGeneration, this.generation))
    this.isKept = true
  }

  #drop(generation: number): void {
    if (generation <= this.minGeneration) return
    this.#history = this.#history.slice(this.#indexAfter(generation))
    this.minGeneration = generation
  }

  /** @returns JSON that shares objects with the data; copy it before giving it away */
  snapshot(): ServiceDataSnapshot {
    const { folderName, serviceName } = this.service
    const { generation, minGeneration } = this
    const layers = Array.from(this.layers.values(), toLayerSnapshot)
    return { folderName, serviceName, generation, minGeneration, layers, changes: [...this.#history] }
  }
}

const countRows = ({
  adds = [],
  updates = [],
  deletes = [],
}: Partial<Record<'adds' | 'updates' | 'deletes', readonly unknown[] | undefined>> = {}): number =>
  adds.length + updates.length + deletes.length

/** The data of all feature services. */
export class FeatureStore {
  readonly #generations: Generations
  readonly #now: () => number
  #all = new Map<string, FeatureData>()

  constructor(generations: Generations, now: () => number) {
    this.#generations = generations
    this.#now = now
  }

  /** @returns the data of a feature service; at the first use, it is one layer without features */
  of(service: Readonly<Service>): FeatureData {
    const data =
      this.#all.get(servicePath(service)) ??
      this.#put(service, [toLayerData(defaultLayer(service.serviceName))])
    data.isUsed = true
    return data
  }

  #put(service: Readonly<Service>, layers: readonly LayerData[]): FeatureData {
    const data = new FeatureData(service, layers, this.#generations, this.#now())
    this.#all.set(servicePath(service), data)
    return data
  }

  /** @returns the data that was seeded, restored or edited; it shares objects with the store */
  snapshot(): ServiceDataSnapshot[] {
    return [...this.#all.values()].filter(({ isKept }) => isKept).map((data) => data.snapshot())
  }

  /**
   * Prepares to replace all data with that of a snapshot, and with the layers of the seeds of other services.
   *
   * @returns a function that replaces it
   * @throws {WebhookError} `config_invalid` for invalid layers
   */
  prepare(seeds: readonly ServiceSeed[], snapshots: readonly ServiceDataSnapshot[]): () => void {
    const restored = snapshots.map((snapshot) => [snapshot, fromLayerSnapshots(snapshot.layers)] as const)
    const seeded = seeds.flatMap((seed) =>
      seed.layers === undefined ? [] : [[toService(seed), toLayers(seed, this.#now())] as const],
    )
    return () => {
      const before = this.#all
      this.#all = new Map()
      for (const [snapshot, layers] of restored) {
        const { folderName, serviceName } = snapshot
        const service = toService({ folderName, serviceName, serviceType: 'FeatureServer' })
        const data = before.get(servicePath(service))
        // A restart with a seed and a saved state continues the saved history, not that of the seed.
        if (data && !data.isUsed && data.generation === data.minGeneration) this.#generations.forget(service)
        this.#restore(service, snapshot, layers)
      }
      for (const [service, layers] of seeded) {
        const path = servicePath(service)
        if (this.#all.has(path)) continue
        if (before.has(path)) this.#startHistory(service)
        this.#put(service, layers).isKept = true
      }
      for (const [path, { service, isKept }] of before)
        if (isKept && !this.#all.has(path)) this.#startHistory(service)
    }
  }

  /** Restores the data of a service. Its history is dropped if the service has changed since the snapshot. */
  #restore(service: Readonly<Service>, snapshot: ServiceDataSnapshot, layers: readonly LayerData[]): void {
    const isCurrent = this.#generations.raise(service, snapshot.generation) === snapshot.generation
    if (!isCurrent) this.#startHistory(service)
    const data = this.#put(service, layers)
    if (isCurrent) data.continueFrom(snapshot)
    data.isKept = true
  }

  /** Begins a history after a new generation, so that no client can continue from before. */
  #startHistory(service: Readonly<Service>): void {
    this.#generations.advance(service, 1)
  }
}

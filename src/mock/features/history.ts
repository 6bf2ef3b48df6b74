import { MAX_HISTORY } from './limits.ts'
import type { Change } from './model.ts'

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

export function createHistory(minGeneration: number, changes: readonly Change[] = []): History {
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

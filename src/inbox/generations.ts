import { configInvalid } from '../errors.ts'

/**
 * The last handled generation of each layer of a feature service: all changes up to it have been handled.
 * `geohook/changes` stores these generations in an inbox.
 *
 * Every method is atomic, and its writes are as durable as a delivery that `put` has stored. Every method rejects with
 * `config_invalid` if the service is not a URL of at most 2,000 ASCII characters without spaces, or if the id of a
 * layer or a generation is not a safe integer.
 */
export interface GenerationStore {
  /**
   * Resolves with the last handled generation of each layer, by layer id; empty for an unknown service.
   *
   * @param service URL of the feature service, at most 2,000 ASCII characters
   */
  get(service: string): Promise<ReadonlyMap<number, number>>
  /** Raises the generations of layers. Generations lower than the stored ones are ignored. */
  raise(service: string, generations: ReadonlyMap<number, number>): Promise<void>
  /** Replaces all generations of a service, even with lower ones. An empty map removes the service. */
  replace(service: string, generations: ReadonlyMap<number, number>): Promise<void>
}

/** Checks the arguments before they reach the store of an engine. */
export function createGenerations(store: GenerationStore): GenerationStore {
  return {
    async get(service) {
      requireService(service)
      return store.get(service)
    },
    async raise(service, generations) {
      requireService(service)
      requireGenerations(generations)
      // Copy the map, because the caller may change it while the store waits for its connection.
      if (generations.size > 0) await store.raise(service, new Map(generations))
    },
    async replace(service, generations) {
      requireService(service)
      requireGenerations(generations)
      await store.replace(service, new Map(generations))
    },
  }
}

/** Spaces and control characters are rejected too: a URL has none, and PostgreSQL cannot store all of them. */
function requireService(service: string): void {
  if (typeof service !== 'string' || !/^[!-~]{1,2000}$/.test(service))
    throw configInvalid('service must be a URL of at most 2,000 ASCII characters without spaces')
}

function requireGenerations(generations: ReadonlyMap<number, number>): void {
  if (!(generations instanceof Map)) throw configInvalid('generations must be a Map')
  for (const [layer, generation] of generations)
    if (!Number.isSafeInteger(layer) || !Number.isSafeInteger(generation))
      throw configInvalid("generations must map a layer's id to its generation, both safe integers")
}

import { configInvalid } from '../errors.ts'

/**
 * The generations of feature services up to which all changes have been handled, by service and layer. `geohook/changes`
 * keeps them in the store of an inbox.
 *
 * Every method is atomic, and its changes are as durable as a delivery that `put` has stored. Each method rejects with
 * `config_invalid` if a service is not a URL of at most 2,000 ASCII characters, or if a layer's id or a generation is
 * not a safe integer.
 */
export interface GenerationStore {
  /**
   * Returns the last handled generation of each layer; empty for an unknown service.
   *
   * @param service URL of the feature service, at most 2,000 ASCII characters
   */
  get(service: string): Promise<ReadonlyMap<number, number>>
  /** Raises the generations of layers. A generation that is lower than the stored one changes nothing. */
  raise(service: string, generations: ReadonlyMap<number, number>): Promise<void>
  /** Replaces all generations of a service, also by lower ones. An empty map forgets the service. */
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

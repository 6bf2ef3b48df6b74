import { configInvalid } from '../errors.ts'

/**
 * The last handled generation of each layer of a feature service: all changes up to it have been handled.
 * `geohook/changes` stores these generations in an inbox, and further ones for each handler.
 *
 * Every method is atomic, and its writes are as durable as a delivery that `put` has stored. Every method rejects with
 * `config_invalid` if the service is not a URL of at most 2,000 ASCII characters without spaces, if the handler is not a
 * text of at most 200 ASCII characters, or if the id of a layer or a generation is not a safe integer.
 */
export interface GenerationStore {
  /**
   * Resolves with the last handled generation of each layer, by layer id; empty for an unknown service.
   *
   * @param service URL of the feature service, at most 2,000 ASCII characters
   * @param handler whose generations to read. Default `''`: those of all handlers together
   */
  get(service: string, handler?: string): Promise<ReadonlyMap<number, number>>
  /** Raises the generations of layers. Generations lower than the stored ones are ignored. */
  raise(service: string, generations: ReadonlyMap<number, number>, handler?: string): Promise<void>
  /**
   * Replaces all generations of a service, even with lower ones, and removes those of each handler. An empty map removes
   * the service.
   */
  replace(service: string, generations: ReadonlyMap<number, number>): Promise<void>
}

/** Checks the arguments before they reach the store of an engine. */
export function createGenerations(store: GenerationStore): GenerationStore {
  return {
    async get(service, handler = '') {
      requireService(service)
      requireHandler(handler)
      return store.get(service, handler)
    },
    async raise(service, generations, handler = '') {
      requireService(service)
      requireHandler(handler)
      requireGenerations(generations)
      // Copy the map, because the caller may change it while the store waits for its connection.
      if (generations.size > 0) await store.raise(service, new Map(generations), handler)
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

/** Together with the longest service, a longer one would not fit into an index of PostgreSQL. */
function requireHandler(handler: string): void {
  if (typeof handler !== 'string' || !/^[ -~]{0,200}$/.test(handler))
    throw configInvalid('handler must be a text of at most 200 ASCII characters')
}

function requireGenerations(generations: ReadonlyMap<number, number>): void {
  if (!(generations instanceof Map)) throw configInvalid('generations must be a Map')
  for (const [layer, generation] of generations)
    if (!Number.isSafeInteger(layer) || !Number.isSafeInteger(generation))
      throw configInvalid("generations must map a layer's id to its generation, both safe integers")
}

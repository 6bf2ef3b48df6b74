import type { GenerationStore } from '../generations.ts'

/** @param requireOpen throws after the inbox was closed */
export function createMemoryGenerations(requireOpen: () => void): GenerationStore {
  /** By service and handler. */
  const services = new Map<string, Map<string, ReadonlyMap<number, number>>>()
  return {
    async get(service, handler = '') {
      requireOpen()
      return new Map(services.get(service)?.get(handler))
    },
    async raise(service, generations, handler = '') {
      requireOpen()
      const handlers = services.get(service) ?? new Map<string, ReadonlyMap<number, number>>()
      const raised = new Map(handlers.get(handler))
      for (const [layer, generation] of generations)
        raised.set(layer, Math.max(generation, raised.get(layer) ?? -Infinity))
      services.set(service, handlers.set(handler, raised))
    },
    async replace(service, generations) {
      requireOpen()
      if (generations.size > 0) services.set(service, new Map([['', generations]]))
      else services.delete(service)
    },
  }
}

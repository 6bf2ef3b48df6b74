import type { GenerationStore } from '../generations.ts'

/** @param requireOpen throws after the inbox was closed */
export function createMemoryGenerations(requireOpen: () => void): GenerationStore {
  const services = new Map<string, ReadonlyMap<number, number>>()
  return {
    async get(service) {
      requireOpen()
      return new Map(services.get(service))
    },
    async raise(service, generations) {
      requireOpen()
      const raised = new Map(services.get(service))
      for (const [layer, generation] of generations)
        raised.set(layer, Math.max(generation, raised.get(layer) ?? -Infinity))
      services.set(service, raised)
    },
    async replace(service, generations) {
      requireOpen()
      if (generations.size > 0) services.set(service, generations)
      else services.delete(service)
    },
  }
}

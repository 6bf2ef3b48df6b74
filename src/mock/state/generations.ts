import { type Service, servicePath } from './services.ts'

/** The current generation of each service. It starts as the time of the first use, and each change adds 1. */
export interface Generations {
  current(service: Readonly<Service>): number
  /** @returns the generation before the changes */
  advance(service: Readonly<Service>, changes: number): number
  /** Raises the generation of a service; a lower number changes nothing. @returns the current generation */
  raise(service: Readonly<Service>, generation: number): number
  /** Forgets the generation of a service, so that the next use starts again. */
  forget(service: Readonly<Service>): void
}

export function createGenerations(now: () => number): Generations {
  const byPath = new Map<string, number>()
  function set(service: Readonly<Service>, generation: number): number {
    byPath.set(servicePath(service), generation)
    return generation
  }
  const current = (service: Readonly<Service>): number =>
    byPath.get(servicePath(service)) ?? set(service, now())
  return {
    current,
    advance(service, changes) {
      const before = current(service)
      set(service, before + changes)
      return before
    },
    raise: (service, generation) =>
      set(service, Math.max(generation, byPath.get(servicePath(service)) ?? generation)),
    forget: (service) => void byPath.delete(servicePath(service)),
  }
}

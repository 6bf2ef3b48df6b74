import type { DuplicateStore } from 'geohook'

/** Remembers in memory, as the contract of the store says. */
export function memory(): DuplicateStore {
  const states = new Map<string, 'busy' | 'done'>()
  return {
    async claim(id) {
      const state = states.get(id)
      if (!state) states.set(id, 'busy')
      return state ?? 'claimed'
    },
    async done(id) {
      states.set(id, 'done')
    },
    async release(id) {
      states.delete(id)
    },
  }
}

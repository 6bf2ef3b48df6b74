import { setTimeout as wait } from 'node:timers/promises'
import type { Flaws } from './flaw.ts'

/** Mistakes in how a receiver handles repeated deliveries. */
export const DELIVERY_FLAWS: Flaws = {
  'loses a delivery whose sender disconnects, because it remembers it as seen': {
    finds: ['retry-after-lost-response'],
    hasSideEffects: true,
    change() {
      const seen = new Set<string>()
      return {
        async deliver({ body, res }, handle) {
          if (seen.has(body.toString())) return 200
          seen.add(body.toString())
          await wait(100)
          if (!res.destroyed) await handle()
          return 200
        },
      }
    },
  },
  'handles repeated deliveries again': {
    finds: ['duplicate-in-turn', 'duplicate-at-once'],
    hasSideEffects: true,
    change: () => ({
      async deliver(_, handle) {
        await handle()
        return 200
      },
    }),
  },
}

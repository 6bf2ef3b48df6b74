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
  'handles a delivery before it verifies the delivery': {
    finds: ['forged-not-handled'],
    change: ({ verify, deliver }) => ({
      verify(given, signature) {
        try {
          void given.handle(JSON.parse(given.body.toString()))
        } catch {
          // not JSON
        }
        verify(given, signature)
      },
      deliver: (given) => deliver(given, async () => {}),
    }),
  },
  'handles forms before it verifies them': {
    finds: ['forged-not-handled'],
    change: ({ verify }) => ({
      verify(given, signature) {
        const payload = new URLSearchParams(given.body.toString()).get('payload')
        if (payload?.startsWith('{') && !signature) void given.handle(JSON.parse(payload))
        verify(given, signature)
      },
    }),
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

import type { IncomingMessage } from 'node:http'
import { setTimeout as wait } from 'node:timers/promises'
import type { Flaws } from './flaw.ts'
import { Refusal } from './steps.ts'

const isTenant = ({ url }: IncomingMessage): boolean => url === '/'

/** Mistakes in how a receiver handles forged, repeated and failed deliveries, and those for other tenants. */
export const DELIVERY_FLAWS: Flaws = {
  'loses a delivery whose sender disconnects, because it remembers it as seen': {
    finds: ['retry-after-lost-response', 'handler-failure'],
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
  'handles a delivery before it verifies the signature': {
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
  'responds with 200 although the handler failed': {
    finds: ['handler-failure'],
    hasSideEffects: true,
    change: ({ deliver }) => ({
      deliver: (given, handle) => deliver(given, () => handle().catch(() => {})),
    }),
  },
  'treats the retry of a failed delivery as a duplicate': {
    finds: ['handler-failure'],
    hasSideEffects: true,
    change() {
      const seen = new Set<string>()
      return {
        async deliver({ body }, handle) {
          if (seen.has(body.toString())) return 200
          seen.add(body.toString())
          await handle()
          return 200
        },
      }
    },
  },
  'responds with 404 for an unknown tenant': {
    finds: ['unknown-tenant'],
    change: ({ before }) => ({
      before(req, res) {
        if (!isTenant(req)) throw new Refusal(404, 'no such tenant')
        before.call(this, req, res)
      },
    }),
  },
  'responds to other methods differently for an unknown tenant': {
    finds: ['unknown-tenant'],
    change: ({ get, other }) => ({
      get: (req, res) => (isTenant(req) ? get(req, res) : void res.writeHead(404).end()),
      other(req, res) {
        if (isTenant(req)) other.call(this, req, res)
        else res.writeHead(404).end()
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

import {
  type ClaimTable,
  type ClosableDuplicateStore,
  createDuplicates,
  type DuplicatesOptions,
} from './claims.ts'
import { readClock, readNumber } from './options.ts'

/** What {@link createMemoryDuplicates} takes. */
export interface MemoryDuplicatesOptions extends DuplicatesOptions {
  /** Deliveries that are remembered, from 1; then the oldest that is done is forgotten. Default 100,000. */
  maxEntries?: number | undefined
  /** The time in milliseconds since 1970, for tests. Default `Date.now`. */
  clock?: (() => number) | undefined
}

/**
 * Remembers in the memory of this process which deliveries are at work and which are done.
 *
 * @throws {WebhookError} `config_invalid`
 * @example
 * ```ts
 * import { createReceiver } from 'geohook'
 * import { createMemoryDuplicates } from 'geohook/inbox'
 *
 * const receiver = createReceiver({ signatureKey: 'parcels2026', duplicates: createMemoryDuplicates() })
 * ```
 */
export function createMemoryDuplicates(options: MemoryDuplicatesOptions = {}): ClosableDuplicateStore {
  const { maxEntries = 100_000, clock } = options
  const claims = createMemoryClaims(readNumber('maxEntries', maxEntries, 1), readClock(clock))
  return createDuplicates(claims, options)
}

function createMemoryClaims(maxEntries: number, clock: () => number): ClaimTable {
  const claims = new Map<string, { owner: string; until: number }>()
  /** When each is forgotten. The order is that in which they were done, so those that are forgotten first are in front. */
  const done = new Map<string, number>()

  /** Makes room for one more. */
  function forget(): void {
    for (const [id, until] of done) {
      if (until > clock() && done.size + claims.size < maxEntries) return
      done.delete(id)
    }
  }

  return {
    async claim(id, owner, lease) {
      if ((done.get(id) ?? 0) > clock()) return 'done'
      if ((claims.get(id)?.until ?? 0) > clock()) return 'busy'
      forget()
      if (claims.size >= maxEntries) throw new Error(`${maxEntries} deliveries are at work`)
      claims.set(id, { owner, until: clock() + lease })
      return 'claimed'
    },
    async renew(ids, owner, lease) {
      for (const id of ids) {
        const claim = claims.get(id)
        if (claim?.owner === owner) claim.until = clock() + lease
      }
    },
    async done(id, retention) {
      claims.delete(id)
      done.delete(id)
      done.set(id, clock() + retention)
    },
    async release(id, owner) {
      if (claims.get(id)?.owner === owner) claims.delete(id)
    },
    async close() {},
  }
}

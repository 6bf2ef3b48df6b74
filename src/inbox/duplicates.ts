import { milliseconds, type OptionNames } from '../options.ts'
import type { DuplicateStore } from '../receiver/types.ts'

/** Options of every duplicate store. */
export interface DuplicatesOptions {
  /**
   * Lease of a claim in milliseconds, 1,000 to 2^31 - 1. A claim expires if its process does not renew it within the
   * lease. Default 30,000.
   */
  lease?: number | undefined
  /** Milliseconds that done deliveries are remembered, from 1. Default 86,400,000, one day. */
  retention?: number | undefined
}

export const DUPLICATES_OPTIONS: OptionNames<DuplicatesOptions> = {
  lease: milliseconds(1_000),
  retention: milliseconds(1, Number.MAX_SAFE_INTEGER),
}

/** A duplicate store that holds resources until it is closed. */
export interface ClosableDuplicateStore extends DuplicateStore {
  /** Releases the store's connections and timers. */
  close(): Promise<void>
}

/**
 * The table of claims: the interface that an engine implements for duplicates. Every change of a claim is atomic. The
 * engine decides whether a claim has expired: PostgreSQL and Redis use the clock of their server.
 */
export interface DuplicatesTable {
  /** Claims a delivery, unless the delivery is done or already has an unexpired claim. */
  claim(id: string, owner: string, lease: number): Promise<'claimed' | 'busy' | 'done'>
  renew(ids: readonly string[], owner: string, lease: number): Promise<void>
  /** Records that a delivery is done, even if its claim has expired. */
  done(id: string, retention: number): Promise<void>
  /** Removes a claim, if the owner still holds it. */
  release(id: string, owner: string): Promise<void>
  close(): Promise<void>
}

/** Creates a duplicate store from a table. The store renews its claims until it is closed or the process exits. */
export function createDuplicates(
  table: DuplicatesTable,
  { lease = 30_000, retention = 86_400_000 }: DuplicatesOptions,
): ClosableDuplicateStore {
  // Created on the first claim, because Cloudflare Workers cannot generate random values before the first request.
  let owner: string | undefined
  /** Claims of this process, by delivery id. A `done` claim stays in this map until the table has recorded it. */
  const claims = new Map<string, 'in progress' | 'done'>()
  let timer: ReturnType<typeof setInterval> | undefined

  async function heartbeat(): Promise<void> {
    try {
      await table.renew([...claims.keys()], String(owner), lease)
      for (const [id, state] of claims) if (state === 'done') await recordDone(id)
    } catch {} // the next heartbeat retries
  }

  async function recordDone(id: string): Promise<void> {
    await table.done(id, retention)
    forget(id)
  }

  function forget(id: string): void {
    claims.delete(id)
    if (claims.size > 0) return
    clearInterval(timer)
    timer = undefined
  }

  return {
    async claim(id) {
      // Check this process's own claims first: in the table, they may have expired while the event loop was blocked.
      const state = claims.get(id)
      if (state) return state === 'done' ? 'done' : 'busy'
      owner ??= crypto.randomUUID()
      const claim = await table.claim(id, owner, lease)
      if (claim !== 'claimed') return claim
      claims.set(id, 'in progress')
      timer ??= setInterval(heartbeat, lease / 3)
      return claim
    },
    async done(id) {
      // If the table cannot record that the delivery is done, the heartbeat retries. Until then, this entry keeps a
      // resent delivery from being handled again.
      claims.set(id, 'done')
      await recordDone(id)
    },
    async release(id) {
      forget(id)
      await table.release(id, String(owner))
    },
    async close() {
      clearInterval(timer)
      await table.close()
    },
  }
}

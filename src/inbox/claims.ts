import type { DuplicateStore } from '../receiver/duplicates.ts'
import { readNumber } from './options.ts'

/** What every store of duplicates takes. */
export interface DuplicatesOptions {
  /** Milliseconds after which a claim whose process says nothing any more is void, 1,000 to 2^31 - 1. Default 30,000. */
  lease?: number | undefined
  /** Milliseconds that it is remembered what is done, from 1. Default 86,400,000, one day. */
  retention?: number | undefined
}

/** A store of duplicates that holds something open. */
export interface ClosableDuplicateStore extends DuplicateStore {
  close(): Promise<void>
}

/** Where claims are kept. Every method is atomic. Times are milliseconds since 1970 by the clock of the store. */
export interface ClaimTable {
  /** A claim whose lease has run out is as if there were none. */
  claim(id: string, owner: string, lease: number): Promise<'claimed' | 'busy' | 'done'>
  renew(ids: readonly string[], owner: string, lease: number): Promise<void>
  /** Also where the claim has lapsed: what is done is done. */
  done(id: string, retention: number): Promise<void>
  /** Nothing happens where the claim is no longer the owner's. */
  release(id: string, owner: string): Promise<void>
  close(): Promise<void>
}

/** A store of duplicates over a table: it prolongs its claims as long as its process lives. */
export function createDuplicates(
  table: ClaimTable,
  { lease = 30_000, retention = 86_400_000 }: DuplicatesOptions,
): ClosableDuplicateStore {
  readNumber('lease', lease, 1_000, 2 ** 31 - 1)
  readNumber('retention', retention, 1)
  // Not made here: a worker has no random numbers before its first request.
  let owner: string | undefined
  /** Claims of this process, the ones that are done but not yet written down among them. */
  const claims = new Map<string, 'at work' | 'done'>()
  let timer: ReturnType<typeof setInterval> | undefined

  async function beat(): Promise<void> {
    try {
      await table.renew([...claims.keys()], String(owner), lease)
      for (const [id, state] of claims) if (state === 'done') await writeDone(id)
    } catch {} // the next beat tries again
  }

  async function writeDone(id: string): Promise<void> {
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
      // Ours, whatever has become of the lease: the event loop may have stood still for longer.
      const state = claims.get(id)
      if (state) return state === 'done' ? 'done' : 'busy'
      owner ??= crypto.randomUUID()
      const claim = await table.claim(id, owner, lease)
      if (claim !== 'claimed') return claim
      claims.set(id, 'at work')
      timer ??= setInterval(beat, lease / 3)
      return claim
    },
    async done(id) {
      // Where it cannot be written down now, the claim is kept until it can: else a retry would be handled again.
      claims.set(id, 'done')
      await writeDone(id)
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

import type { DuplicateStore } from '../receiver/replay.ts'
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
  const owner = crypto.randomUUID()
  const claims = new Set<string>()
  /** What is done, but could not be written down: else a retry would be handled again when the claim has lapsed. */
  const unwritten = new Set<string>()
  let timer: ReturnType<typeof setInterval> | undefined

  async function beat(): Promise<void> {
    try {
      if (claims.size > 0) await table.renew([...claims], owner, lease)
      for (const id of unwritten) await write(id)
    } catch {} // the next beat tries again
    if (claims.size + unwritten.size > 0) return
    clearInterval(timer)
    timer = undefined
  }

  async function write(id: string): Promise<void> {
    unwritten.add(id)
    await table.done(id, retention)
    unwritten.delete(id)
    claims.delete(id)
  }

  return {
    async claim(id) {
      if (unwritten.has(id)) return 'done'
      const claim = await table.claim(id, owner, lease)
      if (claim === 'claimed') {
        claims.add(id)
        timer ??= setInterval(beat, lease / 3)
      }
      return claim
    },
    done: write,
    async release(id) {
      claims.delete(id)
      await table.release(id, owner)
    },
    async close() {
      clearInterval(timer)
      await table.close()
    },
  }
}

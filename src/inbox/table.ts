import type { Delivery, StoredDelivery } from '../receiver/delivery.ts'
import type { InboxEntry, InboxItem, InboxState } from './inbox.ts'
import type { Listing } from './options.ts'

/** A delivery that was taken to be handled. */
export interface Claimed {
  delivery: StoredDelivery
  /** Which attempt this is, from 1. One that was taken and never ended counts. */
  attempt: number
  /** How often it is tried, where the store has kept that with it. Default: as the inbox is told now. */
  attempts?: number
}

/** How an attempt ended. */
export type End =
  | { state: 'done' }
  | { state: 'dead'; error: string }
  | { state: 'waiting'; error: string; dueAt: number }

/**
 * Where an inbox of our own keeps its deliveries: memory, SQLite. Every method is atomic, and durable when it
 * resolves. Times are milliseconds since 1970.
 */
export interface Table {
  /** `full` where `maxPending` are waiting or active. */
  put(
    delivery: Delivery,
    limits: { maxPending: number; now: number },
  ): Promise<'stored' | 'duplicate' | 'full'>
  /**
   * Takes deliveries that are due, or whose lease has run out, for `owner` until `until`. Nothing waits, or is
   * leased, for longer than until `latest`: where it seems so, the clock was set back, and what waits is due.
   *
   * @returns them, and when the next one will be due or its lease run out, where there is one
   */
  claim(claim: { owner: string; limit: number; now: number; until: number; latest: number }): Promise<{
    claimed: Claimed[]
    nextDue?: number | undefined
  }>
  /** Prolongs leases; gives the ids that are still the owner's. */
  renew(owner: string, ids: readonly string[], until: number): Promise<string[]>
  /** False where the delivery is no longer the owner's: then nothing changes. */
  settle(owner: string, id: string, end: End, now: number): Promise<boolean>
  counts(): Promise<Record<InboxState, number> & { oldest?: Date }>
  /** In the order of their reception, one more than `limit` where there are so many. */
  list(listing: Listing): Promise<InboxEntry[]>
  get(id: string): Promise<InboxItem | undefined>
  retry(id: string, now: number): Promise<boolean>
  discard(id: string): Promise<boolean>
  /** Removes those that ended before or at `before`, at most `limit`; gives their number. */
  purge(state: 'done' | 'dead', before: number, limit: number): Promise<number>
  close(): Promise<void>
}

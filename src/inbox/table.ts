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
  /** Its lease ran out during the attempt before. It may have ended its process. */
  isSuspect: boolean
}

/** Which delivery to take, and for whom. */
export interface Claim {
  owner: string
  /** Ids of deliveries that the workers of this inbox have in progress, also while the claim waits. They are not taken. */
  inProgress: ReadonlySet<string>
  /** Milliseconds. */
  lease: number
  /** The most attempts: the count does not go above it. */
  attempts: number
  /** Whether a suspect may be taken. */
  suspects: boolean
}

/** How an attempt ended. */
export type End =
  | { state: 'done' }
  | { state: 'dead'; error: string }
  /** The next attempt is due in `delay` milliseconds. */
  | { state: 'waiting'; error: string; delay: number }

/**
 * Where an inbox keeps its deliveries: memory, SQLite, PostgreSQL. Every method is atomic, and durable when it
 * resolves; `claim` only has to survive the end of the process. Tables read their own clock, inside a transaction.
 */
export interface Table {
  /** `full` where `maxPending` are waiting or active. */
  put(delivery: Delivery, limits: { maxPending: number }): Promise<'stored' | 'duplicate' | 'full'>
  /**
   * Takes one delivery that is due, or whose lease has run out, and counts the attempt. Its handlers begin as soon as
   * this resolves. The next claim reaches the store in a later turn of the event loop, so if those handlers end the
   * process at once, no other delivery was counted that never began.
   *
   * @returns it, or in how many milliseconds to ask again, if the table knows
   */
  claim(claim: Claim): Promise<{ claimed?: Claimed | undefined; wait?: number | undefined }>
  /** Prolongs leases; gives the ids that are still the owner's. */
  renew(owner: string, ids: readonly string[], lease: number): Promise<string[]>
  /** False where the delivery is no longer the owner's: then nothing changes. */
  settle(owner: string, id: string, end: End): Promise<boolean>
  counts(): Promise<Record<InboxState, number> & { oldest?: Date }>
  /** In the order of their reception, one more than `limit` where there are so many. */
  list(listing: Listing): Promise<InboxEntry[]>
  get(id: string): Promise<InboxItem | undefined>
  retry(id: string): Promise<boolean>
  discard(id: string): Promise<boolean>
  /** Removes some of those that ended before or at `before`, at most `limit`; gives their number, 0 if none is left. */
  purge(state: 'done' | 'dead', before: number, limit: number): Promise<number>
  close(): Promise<void>
}

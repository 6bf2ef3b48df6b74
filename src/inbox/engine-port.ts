import type { Delivery, StoredDelivery } from '../receiver/delivery.ts'
import type { InboxEntry, InboxItem, InboxState } from './durable-inbox.ts'
import type { ListQuery } from './method-options.ts'

/** A delivery that a worker took from the table. */
export interface TakenDelivery {
  delivery: StoredDelivery
  /** Number of this attempt, from 1. Earlier attempts count even if their process exited before they ended. */
  attempt: number
  /** Maximum number of attempts, if the table stores it with each delivery. Default: the inbox's `attempts` option. */
  attempts?: number
  /** True if the lease expired during the previous attempt. That attempt may have crashed its process. */
  isSuspect: boolean
}

/** Parameters of {@link DeliveriesTable.take}. */
export interface TakeRequest {
  owner: string
  /** Ids of the deliveries that this inbox's workers have in progress, kept up to date. `take` skips them. */
  inProgress: ReadonlySet<string>
  /** Lease of the taken delivery in milliseconds. */
  lease: number
  /** Maximum number of attempts. `take` does not raise the stored count above it. */
  attempts: number
  /** True if `take` may return a suspect: a delivery with {@link TakenDelivery.isSuspect}. */
  suspects: boolean
}

/** How an attempt ended. */
export type AttemptEnd =
  | { state: 'done' }
  | { state: 'dead'; error: string }
  /** The next attempt is due in `delay` milliseconds. */
  | { state: 'waiting'; error: string; delay: number }

/**
 * The port that a new engine implements: the table of deliveries behind an inbox. `createTableInbox` makes an inbox
 * from it, with workers, retries and retention.
 *
 * A new engine is a folder with `table.ts` (this interface), `duplicates.ts` (the `DuplicatesTable`) and `index.ts`
 * (the functions that users call). `test/contract/inbox` has the tests that every engine must pass. Redis has no
 * table: BullMQ has its own workers, so `redis/inbox.ts` implements `DurableInbox` directly.
 *
 * Every method is atomic. Changes are durable when the method resolves, except those of `take`, which only have to
 * survive a crash of the process. A table reads its own clock, inside the transaction.
 */
export interface DeliveriesTable {
  /** Resolves with `full` if `maxPending` deliveries are waiting or active. */
  put(delivery: Delivery, limits: { maxPending: number }): Promise<'stored' | 'duplicate' | 'full'>
  /**
   * Takes one delivery that is due or whose lease has expired, and counts the attempt. The worker starts its handlers
   * as soon as this resolves. The next call must reach the store in a later event loop tick. Otherwise, if those
   * handlers terminate the process immediately, an attempt would be counted for a delivery whose handlers never
   * started.
   *
   * @returns `taken`, or `wait` if nothing is due: milliseconds to wait before the next call, if the table knows
   */
  take(request: TakeRequest): Promise<{ taken?: TakenDelivery | undefined; wait?: number | undefined }>
  /** Renews leases, and resolves with the ids of the deliveries that the owner still holds. */
  renew(owner: string, ids: readonly string[], lease: number): Promise<string[]>
  /** Records the end of an attempt. Resolves with false, and changes nothing, if the owner has lost the delivery. */
  endAttempt(owner: string, id: string, end: AttemptEnd): Promise<boolean>
  counts(): Promise<Record<InboxState, number> & { oldest?: Date }>
  /** Lists entries in the order of receipt: `limit` + 1 of them, if there are that many. */
  list(query: ListQuery): Promise<InboxEntry[]>
  get(id: string): Promise<InboxItem | undefined>
  retry(id: string): Promise<boolean>
  discard(id: string): Promise<boolean>
  /**
   * Removes at most `limit` deliveries that ended at `before` or earlier. Resolves with their number; 0 if none is
   * left.
   */
  purge(state: 'done' | 'dead', before: number, limit: number): Promise<number>
  close(): Promise<void>
}

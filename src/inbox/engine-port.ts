import type { Delivery, StoredDelivery } from '../receiver/types.ts'
import type { InboxEntry, InboxItem, InboxState } from './durable-inbox.ts'
import type { GenerationStore } from './generations.ts'
import type { ListQuery } from './method-options.ts'

/** A delivery that a worker took from the table. */
export interface TakenDelivery {
  delivery: StoredDelivery
  /** Number of this attempt, from 1. An earlier attempt counts even if its process exited before the attempt ended. */
  attempt: number
  /** Maximum number of attempts, if the table stores it with each delivery. Default: the inbox's `attempts` option. */
  attempts?: number
  /**
   * True if the lease expired during the previous attempt. The handlers of that attempt may have crashed the process.
   */
  isSuspect: boolean
}

/** Parameters of {@link DeliveriesTable.take}. */
export interface TakeRequest {
  owner: string
  /**
   * Ids of the deliveries that workers of this inbox object are handling. The set changes as attempts begin and end.
   * `take` should skip these deliveries, even if their leases have expired.
   */
  inProgress: ReadonlySet<string>
  /** Lease of the taken delivery in milliseconds. */
  lease: number
  /** Maximum number of attempts. `take` never stores a higher count. */
  attempts: number
  /** True if `take` may return a suspect, which is a delivery with {@link TakenDelivery.isSuspect}. */
  suspects: boolean
}

/** How an attempt ended. */
export type AttemptEnd =
  | { state: 'done' }
  | { state: 'dead'; error: string }
  /** The next attempt is due in `delay` milliseconds. */
  | { state: 'waiting'; error: string; delay: number }

/** The end of an attempt to handle one delivery. */
export interface EndedAttempt {
  id: string
  end: AttemptEnd
}

/**
 * The table of deliveries behind an inbox: the interface that a new engine implements. `createTableInbox` creates an
 * inbox from such a table, and adds workers, retries and retention.
 *
 * A new engine is a folder with `table.ts` (this interface), `generations.ts`, `duplicates.ts` (the `DuplicatesTable`)
 * and `index.ts` (the functions that users call). `test/contract/inbox` has the tests that every engine must pass.
 *
 * Every method is atomic. Changes are durable when the method resolves, except those of `take`, which only have to
 * survive a crash of the process. A table reads the time itself, inside the transaction.
 */
export interface DeliveriesTable {
  /** In the same store, and usable as long as the table. Its arguments have been checked. */
  readonly generations: GenerationStore
  /** Resolves with `full` if `maxPending` deliveries are waiting or active. */
  put(delivery: Delivery, limits: { maxPending: number }): Promise<'stored' | 'duplicate' | 'full'>
  /**
   * Takes one delivery that is due or whose lease has expired, and counts the attempt. The worker starts the handlers
   * as soon as `take` resolves. The next call of `take` must reach the store in a later event loop tick. Otherwise, if
   * those handlers immediately terminate the process, that next call could count an attempt for a delivery whose
   * handlers never started.
   *
   * @returns `taken`, or, if nothing is due and the table knows the next due time, `wait`: milliseconds to wait before
   *   the next call
   */
  take(request: TakeRequest): Promise<{ taken?: TakenDelivery | undefined; wait?: number | undefined }>
  /** Renews the leases of deliveries. Resolves with the ids of those that the owner still holds. */
  renew(owner: string, ids: readonly string[], lease: number): Promise<string[]>
  /**
   * Records the ends of attempts: after a crash, all of them are recorded or none. Skips deliveries that the owner has
   * lost. Resolves with the ids of the others.
   *
   * @param ends at least one. All have the same state and the same error
   */
  endAttempts(owner: string, ends: readonly EndedAttempt[]): Promise<string[]>
  counts(): Promise<Record<InboxState, number> & { oldest?: Date }>
  /** Lists entries in the order of receipt. Returns `limit` + 1 entries if there are that many. */
  list(query: ListQuery): Promise<InboxEntry[]>
  get(id: string): Promise<InboxItem | undefined>
  retry(id: string): Promise<boolean>
  discard(id: string): Promise<boolean>
  /**
   * Removes at most `limit` deliveries that ended at `before` or earlier. Resolves with the number of removed
   * deliveries, which is 0 if none is left.
   */
  purge(state: 'done' | 'dead', before: number, limit: number): Promise<number>
  close(): Promise<void>
}

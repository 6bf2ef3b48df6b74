import type { Delivery, StoredDelivery } from '../receiver/delivery.ts'
import type { InboxEntry, InboxItem, InboxState } from './durable-inbox.ts'
import type { ListQuery } from './method-options.ts'

/** A delivery that a worker took from the table. */
export interface TakenDelivery {
  delivery: StoredDelivery
  /** Number of this attempt, from 1. An attempt whose process ended counts too. */
  attempt: number
  /** Maximum number of attempts, if the table stores it with each delivery. Default: the inbox option. */
  attempts?: number
  /** True if the lease ran out during the previous attempt, which may have ended its process. */
  isSuspect: boolean
}

/** Which delivery to take, and for which owner. */
export interface TakeRequest {
  owner: string
  /** Live set of the ids that this inbox's workers have in progress. `take` skips them. */
  inProgress: ReadonlySet<string>
  /** Milliseconds. */
  lease: number
  /** Maximum number of attempts: the count does not go above it. */
  attempts: number
  /** True if a suspect may be taken. */
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
 * Every method is atomic. Its changes are durable when it resolves, except those of `take`, which only have to survive
 * a crash of the process. A table reads its own clock, inside the transaction.
 */
export interface DeliveriesTable {
  /** Resolves with `full` if `maxPending` deliveries are waiting or active. */
  put(delivery: Delivery, limits: { maxPending: number }): Promise<'stored' | 'duplicate' | 'full'>
  /**
   * Takes one delivery that is due or whose lease has run out, and counts the attempt. Its handlers begin as soon as
   * this resolves. The next call must reach the store in a later event loop tick: if those handlers terminate the
   * process immediately, no attempt is counted for a delivery that never began.
   *
   * @returns the delivery, or the milliseconds to wait before the next call, if the table knows
   */
  take(request: TakeRequest): Promise<{ taken?: TakenDelivery | undefined; wait?: number | undefined }>
  /** Renews leases, and resolves with the ids that the owner still has. */
  renew(owner: string, ids: readonly string[], lease: number): Promise<string[]>
  /** Records the end of an attempt. Resolves with false, and changes nothing, if the owner has lost the delivery. */
  endAttempt(owner: string, id: string, end: AttemptEnd): Promise<boolean>
  counts(): Promise<Record<InboxState, number> & { oldest?: Date }>
  /** Lists entries in the order of receipt: `limit` + 1 of them, if there are that many. */
  list(query: ListQuery): Promise<InboxEntry[]>
  get(id: string): Promise<InboxItem | undefined>
  retry(id: string): Promise<boolean>
  discard(id: string): Promise<boolean>
  /** Removes at most `limit` deliveries that ended at `before` or earlier. Resolves with their number; 0 if none is left. */
  purge(state: 'done' | 'dead', before: number, limit: number): Promise<number>
  close(): Promise<void>
}
